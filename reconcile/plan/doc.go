// Package plan compares the wanted state of guests with the observed state and returns the steps between them.
//
// The types in the order of use:
//
//   - AssignedLabels and WantedGuests give the guests of manifests their vmids, from the journal.
//   - Desired is everything that the manifests ask for, with the records of owned guests. cluster.Snapshot is everything that was observed.
//   - New returns a Plan. It contains one Guest for each guest that a manifest names or that the agent owns: the differences (Changes), the
//     Steps that remove them, and the Conditions that explain why a difference has no step.
//   - Step is one piece of work on one guest, with its calls. Step.Digest identifies it in an approval.
//   - Ordering decides which creates and starts wait for dependencies and lower waves.
//   - Candidates finds guests that a manifest without a vmid may mean. MarkerCopies finds clones that have the marker of an owned guest.
//
// Invariants:
//
//   - The package is pure: the same input gives the same plan, and the linter denies the package the clock, the network and files.
//   - A guest that is not owned gets no step unless its manifest asks to adopt it.
//   - No step destroys or attaches a volume that another guest uses.
//   - A plan contains the names of secrets and never their contents.
//   - The digest of a step never changes between releases: an approval that was signed before must stay valid.
//
// The steps of one guest are in the order of cluster.Ops. The gate decides whether and when a step runs. Start reading at New, then planGuest
// in guest.go; config.go, create.go and power.go turn differences into calls.
package plan
