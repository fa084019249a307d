// Package adoption writes the manifests of guests that exist: each key that is set, in the fields of manifests or under raw, and a comment on
// the settings that cannot be pinned. It reads the cluster and cannot write to it.
//
// Main types and functions, in order of use:
//
//   - Options hold the config of the agent, the guests to adopt and the directory to write to. Without vmids, every guest that no agent and no
//     manifest manages is adopted, and the others are skipped.
//   - Run finds out which guests and names are in use already: from the agent's journal, the revision that it accepted last, and the
//     manifests in the directory. It reads the guests in full, derives each manifest with manifest.Adopt, which plans the manifest and rejects
//     one that would change the guest, and writes the files. A file is complete or does not exist, and an existing file is overwritten only on
//     request.
//   - Result.WriteText prints the manifests, or a table of the files. Document is the JSON result. Result.Err returns an error that
//     names the refused guests; the other guests were adopted.
//
// The files: adopt.go decides for each guest, read.go reads guests, conflicts.go finds the managed ones, write.go writes a file, result.go
// prints.
//
// The command adopt calls it. docs/adopt.md describes what it writes.
package adoption
