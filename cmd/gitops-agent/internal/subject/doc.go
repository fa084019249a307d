// Package subject reads the manifests that a command works on, and the state of the agent's journal. It uses neither the cluster nor the
// network, and it changes nothing.
//
// Main types and functions, in order of use:
//
//   - Reader reads with the config of an agent. Reader.Read returns the manifests of a working copy, of a revision that the agent fetched, or of
//     the revision that the agent accepted last, as a planview.Subject: with their basis and the state of the journal. A revision that the
//     agent would refuse is read too, with a note; its basis is then unverified.
//   - Reader.ReadIfAccepted returns no manifests, instead of an error, if the agent has not accepted a revision yet.
//   - Reader.State reads the journal alone. A missing or damaged journal is a note, not an error: the agent then owns fewer guests.
//   - ReadDirs parses the YAML files below some directories as one source, with the bounds that the agent has for a commit. It returns a
//     manifest.Problems for manifests that the agent would refuse.
//   - GuestLabels lists the guests of a working copy, for the completion of shells.
//
// The files: reader.go chooses between the sources, folder.go reads directories.
//
// The commands plan, config check, validate and render call it, and package adoption.
package subject
