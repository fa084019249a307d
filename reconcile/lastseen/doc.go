// Package lastseen remembers, per key, which value of a guest or another object the agent last saw in effect, and so tells its own work from a change that
// others made.
//
// A difference between manifest and cluster does not say who caused it: a new revision, a step of the agent that another step has to follow, or another
// program. The memory of an object is one record in the journal (journal.Seen), so that a restart forgets nothing.
//
// The functions in the order of use:
//
//   - OfGuest and OfObject return the values of a reading, as fingerprints.
//   - ByOthers returns which of the keys that differ from the manifest have another value than the record: others changed them.
//   - Effect.Repairs says whether a step takes back what others changed.
//   - Effect.Begin returns the record with which a step begins. It says nothing about the keys that the step may change: their next value is the agent's
//     own work.
//   - Effect.TakesBack returns what the intent of the step keeps of keys that others changed, and AfterStep puts it back if the step did not have its effect.
//   - Follow brings the record up to date with a reading in which no step is open. It learns the value of a key that agrees with the manifest, and of a
//     key that the record does not mention. A key that differs keeps its earlier value.
//
// Invariants:
//
//   - A key without a value in the record was not changed by others, as far as the agent knows. Every guest begins so: created, adopted, or owned by an
//     older release.
//   - Only this package decides what the record says.
//   - The package is pure. The linter denies it the clock, the network and files.
//
// Start reading at Follow.
package lastseen
