// Package rekor is a transparency log in memory, for tests: Rekor v1, which signs the time of each entry, and Rekor v2, which signs only
// checkpoints. Its Merkle tree grows, and its proofs and signatures are real.
//
// Main types and functions, in order of use:
//
//   - NewV1 and NewV2 return a Log with a key, named for a domain and a generation. A new log already has a few entries, so that no proof is empty.
//   - Log.Add appends a Record, the signature of an artifact with its certificate, as a hashedrekord entry. It returns the entry as gitsign
//     stores it, with the inclusion proof and the checkpoint of the tree at this moment, and the canonical body that the log hashes.
//   - Log.Host, Log.Key, Log.Public and Log.ID describe the log in a trusted root.
//   - Log.Leaves and Log.Restore continue a log in another process.
//
// The files: log.go makes entries and signs, hashedrekord.go encodes the bodies of both versions, merkle.go is the tree of RFC 6962.
//
// Package sigtest calls it and chooses the keys, the generations and the times. Signing uses no randomness, so the same calls give the same bytes.
// Start with merkle_test.go, and with internal/sigtest/sign_test.go.
package rekor
