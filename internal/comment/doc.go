// Package comment keeps one comment in a pull request of GitHub, GitLab, Gitea or Forgejo, and updates it.
//
// The comment has a hidden marker with its name and the run that wrote it. Keep looks for a comment with the marker that the same account wrote, and edits
// it; it makes one if there is none. Two runs at the same time may both make one: each looks again afterwards, and the older comment stays. A
// run does not replace what a later run has written.
//
//   - place.go: Place, the pull request, from the environment of a CI job
//   - forge.go: the requests of each forge
//   - keep.go: Keep, which decides between making, editing and deleting, and repeats what failed for a while
//   - body.go: the marker, and the length of a comment
package comment
