// Package attest states with a key of the agent that a cluster matches a revision, and reads such statements. A statement is an in-toto statement in a DSSE
// envelope, as other tools for supply chains read them.
//
//   - statement.go: Statement and Resource, the parts of in-toto that audits use too
//   - convergence.go: Convergence, what the agent states, and the digest of the observed state
//   - key.go: Signer and Keys, the two halves of a key
//   - directory.go: Directory, where statements are kept
//   - notes.go: statements in notes of git
//   - reader.go: Reader, which finds the statements about a commit
//   - promotion.go: whether a cluster matched a commit, for an agent that accepts only what another one matched
//   - publisher.go: Publisher, which writes a statement after each convergence
package attest
