// Package setup writes the first config of an agent. It finds what it can, asks or takes flags for the rest, and shows what it found before it is trusted.
//
// Main types and functions, in order of use:
//
//   - Options hold the answers that flags gave, and the Dialogue with the user. Run decides everything that is open and returns a Result.
//   - The repository is fetched into a temporary directory. From it come proposals: the name of the Cluster, the signer of the newest provably signed commit,
//     the binding and the anchor. Nothing in a repository is trusted until a person or a flag confirms it.
//   - The trusted root is a given file, the one that is there, or the one of a TUF repository.
//   - The certificate of each endpoint is shown, and pinned once it is confirmed. No token is sent before.
//   - files.go writes: all files or none if one of them is there and differs; each completely or not at all. Nothing is ever overwritten.
//   - RunClone prepares the clone of a person who signs. Package clone knows its settings.
//
// What --yes never decides is whom to trust: the certificate, the signers and the anchor need their flags.
//
// The command init calls this package, and then checks the result as config check --cluster does. docs/quickstart.md describes a session.
package setup
