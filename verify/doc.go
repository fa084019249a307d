// Package verify decides which commits may change the cluster.
//
// A Policy is the trust that the host of the agent states: a Sigstore trusted root, the signers with their roles and
// times, what ties a commit to this target, and where trust begins. Policy.Check takes a tip that nobody trusts yet and
// what was accepted last, and returns a Revision or the reason why not. Nothing else makes a Revision, and its zero value
// is not valid, so holding a valid one means that the check passed.
//
// The way from bytes to trust has one type per step. splitCommit takes raw object bytes apart; parseSignature takes the
// CMS signature apart; a prover verifies, offline, that the certificate's holder signed these bytes at a proven time (a
// proof); the policy recognises the signer (an admitted commit) and judges it by its place in the history (a
// SignedCommit). Tree, parents and message are read from the bytes that the signature covers, the time is what a
// transparency log or a timestamp authority proves, and no clock of this machine is looked at. All cryptography is
// sigstore-go's; what it cannot know, that the signature is about this git object, is checked here first.
//
// There is no hook for tests: a test that wants another trust writes another trusted root.
//
// The sequence, the reasons for refusal with their remedies, and the test behind every check: docs/verify.md.
package verify
