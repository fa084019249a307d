// Package journal stores the agent's only durable state: accepted revisions, steps, vmid assignments, ownership, guards and signed orders.
//
// A journal is a directory of append-only segments. [Journal.Append] returns when its records are on disk. The agent appends a record
// of each step before it executes the step, so after a crash it knows which steps were open. Records that arrive while the disk is
// busy share one write and one fsync, which is called a commit. A commit is one frame: it exists as a whole or not at all. Its CRC-32C
// detects a torn commit. Its SHA-256 link covers the commit before, so no commit can be lost, moved or changed in the middle without
// detection. Compaction replaces old segments with a base, which keeps the records that still matter and the link of the last commit.
//
// Types in the order of use: [Options] and [Open] give a [Journal]; [Journal.Append] takes values of the [Body] types;
// [Journal.State] returns the folded [State]; [Read] and [ReadState] work while an agent runs; [Repair] rebuilds a journal with a
// [DamageError].
//
// Invariants:
//   - After any crash the journal contains a prefix of the commits that were written, with every record whose Append returned nil.
//   - The records of one Append call are in one commit, up to [MaxAppend] bytes: all of them or none.
//   - The folded State is the same before a crash, after the crash, and after a compaction.
//   - A journal with damage, a failed write or a failed fsync returns the reason from Healthy, refuses Append until the agent is
//     restarted or Repair has run, and keeps its State readable.
//   - Records contain no secret: no token, password, cloud-init content or configuration value of a guest. They contain names (vmid,
//     step, digest, identity), not values.
//
// To add a kind of record, add a type to record.go and a row to the table in kinds.go, with a new version, and the same row to
// docs/internals/journal.md. If the kind has a state, add a field to State and to fold.
//
// What a journal is (records, fold, chain, what compaction keeps) is apart from where its bytes are: the Journal uses a store (store.go). files (files.go) is
// the store in a directory, and blocks (blocks.go) the one in a service that implements [Blocks]. With a service, one agent opens the journal and others
// [Follow] it. Both stores pass the tests of the package storetest. [Copy] moves a journal from one to the other.
//
// Start reading with record.go, kinds.go and journal.go; then writer.go (commits), store.go, replay.go (recovery) and compact.go. The files refer to
// each other in one direction only: record and fold, payload and frame, replay, files, then Journal and Repair. docs/internals/journal.md
// describes the format byte by byte, and the recovery from damage.
package journal
