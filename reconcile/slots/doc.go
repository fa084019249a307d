// Package slots remembers which volume each slot of an owned guest held last, and says what an empty slot held before.
//
// A person who detaches a disk leaves a slot empty that the manifest wants filled. Without a history the agent would fill it with a new empty
// volume, and the guest would lose its data without anybody noticing. The history of a guest is one record in the journal (journal.Attached).
//
// The functions in the order of use:
//
//   - Created, Adopted and Unrecorded make the first record of a guest: of one that the agent creates, of one that it adopts, and of one that an
//     older release owned. Before makes it from a manifest alone, for a guest that was not read yet, and Doubted extends a record that
//     is older than the cluster.
//   - Follow brings the record up to date with a reading. It is the only function that learns volumes, and the only one that forgets a slot:
//     when the accepted manifest no longer puts a volume into the slot, and the guest has none there.
//   - Begin notes the slots that a call is about to fill, and Revert takes that back for a call that certainly had no effect. Between the two, a
//     crash leaves a slot of which it is unknown whether it held a volume. Explains helps to find out that a call without an outcome had none.
//   - Former returns what the empty slots held, for the plan.
//
// Invariants:
//
//   - A slot that is not in the record may be filled without asking: the manifest asked for it after the record began, and no reading showed a
//     volume in it.
//   - Without a record nothing is known about any slot.
//   - The package is pure. The linter denies it the clock, the network and files.
//
// Start reading at Follow.
package slots
