// Package sigtest is a Sigstore in memory that signs for real.
//
// It holds what a Sigstore deployment holds: a certificate authority that issues short-lived code-signing certificates to identities, a
// certificate transparency log whose timestamps are embedded in them, a Rekor v1 and a Rekor v2 transparency log, and a timestamp
// authority. Sign makes the signature that gitsign makes in its offline mode, and Commit and Tag wrap it in git objects. Nothing is
// pretended: keys are real, the Merkle trees grow, proofs and checkpoints are signed, and times may lie anywhere.
//
// Trust leaves the package only as the JSON of TrustedRoot, so whoever verifies needs no hook and cannot tell these signatures from
// those of a real deployment. To make a signature wrong in one respect, SignOptions takes parts from another Sigstore (By), leaves them
// out (Nobody), moves times, or applies a Mutation to the finished message.
//
// All keys derive from Options.Seed and signing draws no randomness, so the same calls in the same order give the same bytes. A Sigstore
// may be used by many goroutines at once; only the order of log entries then depends on who comes first.
//
// The package is for tests and demonstrations. Its keys are as secret as its seed, and the agent does not link it.
package sigtest
