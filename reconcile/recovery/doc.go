// Package recovery restores ownership records that were lost with the state directory.
//
// The identity in a record is random, so a lost record cannot be computed again, and a marker cannot be checked without it. What remains is
// evidence: a guest with one marker that no record and no other guest has, and the vmid, kind and name of an accepted manifest. A
// person decides whether that is enough: by a signed approval of the digest of exactly these guests, or on the agent's host.
//
// The functions in the order of use:
//
//   - Find compares the marked guests of a cluster with the manifests and the records, and returns every guest that no record explains, with a
//     verdict. It is pure.
//   - Result.Digest names exactly the guests that would be claimed.
//   - Note is the file by which `gitops-agent recover --yes` releases a digest.
//   - Found.Records returns the records of the claimed guests. The recorded marker is the one that the guest has, so nothing is written to it.
//
// Start reading at Find. The procedure for users is in docs/recovery.md.
package recovery
