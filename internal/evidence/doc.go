// Package evidence finds, stores and serves what a Rekor log knows of commits that gitsign signed in its online mode. Nothing here is trusted: package
// verify verifies each bundle.
//
//   - set.go: Set, bundles by object, which a file contains one on each line
//   - notes.go: Notes, the bundles in git notes, and WriteNotes
//   - rekor.go: Client, which looks entries up in a log
//   - finder.go: Finder, where an agent finds evidence; lookup.go: how it asks a log
//   - entry.go: from a reply of the log to a bundle
//   - live.go: Live, which looks entries up while commits are verified
package evidence
