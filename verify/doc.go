// Package verify decides which commits may change the cluster.
//
// # Types, in order of use
//
//   - Options state the trust of the agent's host: a Sigstore trusted root, the signers with their roles and times, what
//     binds a commit to this target, and where trust begins.
//   - NewPolicy checks Options and returns a Policy, or an error that lists every problem. A Policy is immutable.
//   - Base is what was accepted last.
//   - Policy.Check takes an untrusted tip and a Base. It returns a Revision, or a *RejectedError with a Reason and a Hint.
//   - Revision is a state of the source that may change the cluster; Revision.Commits are its SignedCommits with their Orders.
//   - Policy.Audit and Policy.AuditTag verify one commit or tag alone and return a Verdict, which is only a report.
//
// # Steps from bytes to trust
//
// Each step has its own type. splitCommit splits a raw object (object). parseSignature parses its CMS signature
// (signature). A prover verifies, offline, that the holder of the certificate signed these bytes at a proven time (proof).
// Policy.admit finds the signer of the proof (admitted). Policy.judge checks the commit's place in the history and whether
// its signer may make the change (SignedCommit). sigstore-go does all cryptography. sigstore-go cannot check that the
// signature is about this git object, so this package checks that first.
//
// # Invariants
//
//   - Only Policy.Check makes a Revision, and the zero value is not valid. So a valid Revision has passed the check.
//   - Tree, parents and message are read from the bytes that the signature covers, and from no other parser.
//   - Time is what a transparency log or a timestamp authority proves. The clock of this machine is never read.
//   - Every refusal is a *RejectedError. Any other error means that nothing was decided, so a retry can help.
//   - The reasons are a closed list with fixed names: metrics, status and the command line use them.
//   - No hook weakens a check for tests. A test that needs other trust writes another trusted root.
//
// # Where to start
//
// Read check.go (a history), policy.go (one commit) and proof.go (one signature), in this order. docs/verify.md describes the
// sequence, docs/refusals.md the reasons, docs/internals/checks.md the test behind every check. checks_test.go lists every check with the
// test that fails without it: change its rows together with the lines that they quote.
package verify
