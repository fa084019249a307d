// Package gate decides whether a step of a plan may run now.
//
// A plan describes everything that would bring a guest to its wanted state. The gate compares each step with the manifest's policy, the signed
// approvals and the limits of the Cluster document. The types in the order of use:
//
//   - Policies are the parts of manifests that the gate reads: mode, suspend, lifecycle and window.
//   - Approvals are the signed approvals in the journal that are not spent, by step digest, with the scope of their signers.
//   - Scope decides whether the signers who introduced what a step does may touch what it touches. Scope.Authors names these signers.
//   - Gate combines them with the present state: the time, the destroyed guests, whether the agent may write (reason.Stop).
//   - Gate.Judge returns a Verdict: the step is released, or it is held with a reason, a message and a hint. Gate.Next returns the first
//     step of a guest that may run.
//
// Invariants:
//
//   - The same Gate and step always give the same Verdict. The package is pure: the linter denies it the clock, the network and files.
//   - A destroy needs an approval unless the last accepted manifest allows it and record, tag and uuid agree.
//   - An approval releases only the exact step whose digest it names, and only if the scope of its signer covers everything that the step reaches (reach.go).
//
// Start reading at Gate.Judge.
package gate
