// Package term prints to people and programs in the same way for every command: tables, colours, wrapped text, progress, errors with hints,
// JSON, and the exit statuses. It is a leaf: it imports no package of this module, so that every other package of the program can use it.
//
// Main types and functions, in the order in which a command uses them:
//
//   - Progress shows on stderr how far long work is. It prints nothing if stderr is not a terminal.
//   - Palette decides whether text is coloured: only on a terminal, and only if NO_COLOR is not set. Width returns the width of a line.
//   - Table aligns rows in columns; Wrap breaks prose into lines.
//   - Printable removes the characters that control a terminal. Every text that comes from a repository, a signer or the cluster goes through
//     Printable before it is printed; Table, Progress, Prompt and PrintError call it themselves.
//   - WriteJSON prints the document of -o json, whose version is SchemaVersion.
//   - Prompt asks for a confirmation before a command does something that cannot be undone. Dialogue asks several questions, also for secrets.
//   - WithHint adds a remedy to an error, WithStatus and UsageErrorf an exit status. PrintError prints the error and the remedy; ExitStatus
//     returns the status.
//
// Package main and the other packages below cmd/gitops-agent/internal call this package.
package term
