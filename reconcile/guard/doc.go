// Package guard decides which guards are in force, and which changes of manifests would weaken them.
//
// A guard is a field that protects a guest or the cluster against destruction, interruption or a write: lifecycle.destroy,
// guards.approvals and so on. The people who may change manifests are the people that a guard guards against. So a guard becomes weaker only
// with the approvals that the guards in force require, and never weaker than the minimum in the host's configuration.
//
// In the order of use:
//
//   - Of returns the guards that a manifest asks for, as journal.Guarded. The table fields (fields.go) compares and copies single guards.
//   - Accept returns what the journal records when a revision is accepted: stronger values at once, weaker values not. Begin returns it for
//     a guest that the agent creates or adopts.
//   - InForce returns the guards of a guest in the journal, also of a guest that is gone and whose manifest was removed meanwhile (Gone).
//   - Resolve compares a revision with the guards in force. It returns the guests with the effective guards, which everything else works
//     with, and the Weakenings: one for each line that weakens a guard, however many guests it concerns.
//   - AcceptPolicies and AcceptPlaces do the same for policies of the repository, and for guests whose manifests leave their reach (policies.go, places.go).
//   - Weakening.Digest is what an approval names. Release returns the records that put approved weakenings into force.
//   - Minimum is the host's bound. Resolve applies it to guests that manifests name, and Destroy and Recreate to the journal's records.
//
// Invariants:
//
//   - Strengthening a guard needs nobody; weakening it needs the old number of approvals, at least one.
//   - Guards belong to the vmid and the identity of a guest. A new label, a removed and restored manifest, a class or the defaults change
//     nothing about that.
//   - A guest that the agent never owned has no guards in force: it begins with what its manifest says.
//   - The package is pure: the linter denies it the clock, the network and files.
//
// Why weakening is a step of its own: docs/adr/0015. Start reading at Resolve. To add a guard, add a row to fields.
package guard
