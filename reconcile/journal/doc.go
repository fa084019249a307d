// Package journal is the agent's only durable state: what was accepted, begun, ended and assigned.
//
// A journal is a directory of append-only segments. Every Append call returns once its records are on disk, and the agent
// appends what it is about to do before it does it, so that after a crash the open steps are known. Records that arrive
// while the disk is busy share one write and one fsync, called a commit. A commit is one frame: it is there as a whole or
// not at all, its CRC-32C tells a torn one, and its SHA-256 covers the commit before it, so that nothing can be lost,
// moved or altered in the middle without being noticed. Compaction replaces old segments by a base that keeps what still
// matters and carries the chain's head over.
//
// What a reader may rely on:
//   - after any crash the journal holds a prefix of the commits that were written, and every record whose Append returned nil;
//   - the folded State before a crash, after it, and after a compaction is the same;
//   - a journal that cannot be trusted (damage, a failed write, a failed fsync) says so in Healthy, refuses Append until
//     the agent is restarted or repair was run, and keeps its State readable.
//
// Nothing secret belongs into a record: no token, no password, no cloud-init content, no configuration value of a guest.
// Records name things (vmid, step, digest, identity), they do not carry them.
//
// The format, byte by byte, and the way out of damage: docs/journal.md.
package journal
