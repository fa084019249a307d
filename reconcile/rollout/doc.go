// Package rollout decides which guests a change may reach now, if the guests share a rollout: a few at a time, and the next ones when those are ready.
//
//   - Begin compares an accepted revision with what each guest was released for before. It returns the records of the guests that are staged: their batch,
//     and the revision to which they are held until they are released. Membership and order are fixed with it.
//   - Advance compares the journaled progress with what is known of the guests. It returns which guests are released, the next state, and why the others wait.
//   - Promote and Abort apply a signed order.
//
// The package is pure: the same input gives the same result, and the journal has all of the progress, so a restart of the agent continues where it was.
package rollout
