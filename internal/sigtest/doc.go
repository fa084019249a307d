// Package sigtest is a Sigstore in memory that makes real signatures, for tests and demonstrations.
//
// It contains the parts of a Sigstore deployment: a certificate authority that issues short-lived code-signing certificates to identities, a
// certificate transparency log whose timestamps are embedded in them, a Rekor v1 and a Rekor v2 transparency log, and a timestamp authority.
// The keys are real, the Merkle trees grow, proofs and checkpoints are signed, and times can be chosen freely.
//
// The trust in a Sigstore leaves the package only as the JSON of TrustedRoot. A verifier therefore needs no test code and cannot distinguish
// these signatures from those of a real deployment.
//
// Main types, in the order in which a reader meets them:
//   - Options and Sigstore (sigstore.go): the parts, their keys and windows. Rotate and Retire change keys; Save and Load (state.go) continue a
//     Sigstore in another process.
//   - Identity and Extensions (identity.go): the person or workflow that a certificate names.
//   - SignOptions and Party (sign.go): the times and parts of one signature. Sign makes the signature that gitsign makes in its offline mode.
//   - CommitSpec and TagSpec (object.go): git objects. Commit and Tag sign them.
//   - Message (message.go): a signature before it is encoded.
//   - Mutation (mutation.go): a change that makes a finished message wrong in one respect. SignOptions can also take a part from another
//     Sigstore (By), leave it out (Absent) or move times.
//   - Online (online.go): what gitsign's online mode logs; RekorServer (rekorserver.go) serves it.
//   - GitProgram (gitprogram.go): git's signing program.
//
// The parts are authority.go and certificate.go, ctlog.go, rekor.go with the package rekor below this one, and tsa.go; cms.go encodes messages.
//
// All keys derive from Options.Seed, and signing uses no randomness, so the same calls in the same order give the same bytes. Many goroutines
// may use a Sigstore at once; then only the order of log entries depends on their timing. The keys are only as secret as the seed, and the agent
// does not link this package.
//
// Start with sign_test.go and with Message in sign.go.
package sigtest
