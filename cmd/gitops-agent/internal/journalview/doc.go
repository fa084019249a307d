// Package journalview shows a journal to people and programs: as lines, as a summary, and as JSON. It also repairs a damaged journal after
// asking.
//
// The functions, one per command:
//
//   - Show prints every record that a Filter selects, oldest first, without keeping them. Of a damaged journal it prints the readable records.
//   - Verify checks every checksum, link and count. It prints the number of records and files, the lineage, and the head, a value that
//     identifies the whole history.
//   - Repair asks with the Prompt of RepairOptions, calls journal.Repair, and prints which records were kept and lost, which orders are unknown now,
//     and where the damaged files are.
//
// Show and Verify take no lock and change nothing, so the agent may be running; Repair needs it stopped. Each of them returns an error with a
// remedy if the directory contains no journal. Show and Verify return the error of package journal if the journal is damaged.
//
// The files: show.go, verify.go and repair.go hold these functions; record.go prints one record of each kind as a line, and
// filter.go decides what a record is about.
//
// The commands journal show, journal verify and journal repair call it. docs/internals/journal.md describes the records.
package journalview
