// Package gittest creates bare git repositories for tests. It uses no work tree, so that a test can store commits byte by byte, also
// commits that git itself would not write. The package writes all objects itself.
//
// The only type is Repo: a repository with one branch, main. Push commits the files in Repo.Files with a signature of internal/sigtest, Place
// stores a given commit, and Git runs any other git command. Every failure ends the test.
//
// Start with New and Push in repo.go.
package gittest
