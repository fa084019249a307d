// Package stack tests the agent with the real Sigstore tools. The real gitsign signs commits and tags with a Sigstore on this
// machine (Fulcio, Rekor v1 and v2, a timestamp authority), and the agent verifies them. In the other direction, the real
// gitsign verifies commits of internal/sigtest.
//
// The tests have the build tag integration. TestMain builds the programs that test/sigstore/go.mod pins, and then starts the
// test binary again in a new network namespace that has only loopback. So the programs can use any port, reach no other host,
// and two runs at the same time do not conflict. This needs root, unshare of util-linux, ip of iproute2, PostgreSQL, Redis, git and Go.
//
// # Types, in order of use
//
//   - sigstore is a private Sigstore: the running services with their keys, and the trusted root of them. startSigstore
//     starts it, and startRekorV1 adds a Rekor v1.
//   - repository is a person's clone in which git signs with gitsign. A login selects who signs, and how.
//   - cluster is a simulated Proxmox VE with the agent's config, for tests of the whole agent.
//
// Two services are not from the Sigstore project, because no Go module provides them: issuer issues identity tokens for
// persons and workflows, and ctLog is a certificate transparency log without a tree.
//
// Start with accepted_test.go and refused_test.go. ../README.md describes how to run the tests.
package stack
