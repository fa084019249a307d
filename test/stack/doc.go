// Package stack holds the agent against the real tools: commits and tags that the real gitsign signs with a Sigstore of Fulcio, Rekor, v1
// and v2, and a timestamp authority, all of them on this machine, and commits of internal/sigtest that the real gitsign verifies.
//
// The tests carry the build tag integration. They build the programs that test/sigstore/go.mod pins, and then start themselves again in a
// network namespace of their own, in which there is nothing but loopback: the programs listen where they like, reach nobody, and two runs
// beside one another do not meet. For that they need root, unshare of util-linux, ip of iproute2, PostgreSQL, git and Go.
//
// What is not of the Sigstore project is an issuer of identity tokens (issuer) and a certificate transparency log without a tree (ctLog),
// since neither can be had as a Go module: together they are what a person's login and a forge's workflow are to a public Sigstore.
package stack
