// Package planview prints a plan: as text for a terminal, as Markdown for a comment on a pull request, and as JSON. It reads neither the
// cluster nor a repository; its input is a computed preview, and its output is text.
//
// Main types and functions, in order of use:
//
//   - Subject holds the manifests that are planned: their Basis (accepted, verified, unverified, or a working copy), the revision, the parsed
//     set, and the state of the agent's journal.
//   - NewDocument combines a Subject with a reconcile.Preview into a Document. It keeps the guests that differ, decides the action of each
//     (create, change, destroy, blocked, waiting, unknown), hides the values of secrets, and counts.
//   - WriteText prints a block per guest, with columns that fit the terminal; the summary is the last line.
//   - WriteMarkdown prints a table and one section per guest, below the size limit of GitHub. Text from manifests and from the cluster cannot
//     add markup, links or mentions.
//   - A Document is also the JSON result; docs/plan.md describes its fields, and a test compares that page with the output.
//
// The commands plan and config check call it. The golden files in testdata show every operation, class, hold and condition.
package planview
