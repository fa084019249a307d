// Package sandbox runs the real agent on a simulated cluster, with a repository and a Sigstore of its own, for cmd/demo and cmd/sandbox. Everything is
// below one temporary directory, and every connection is on loopback.
//
// The Sigstore's authorities have verify.SandboxMarker. The agent of a sandbox verifies as every agent does, but trusts only such authorities, and no
// other agent trusts one.
//
// Main types: Environment (the directory, the cluster and the agents), Process (an agent in a process of its own, which can be killed) and Repository (a bare repository and a working copy that pushes to it). git runs
// the same program as its signing program; Sign is that program.
//
// Start with environment.go.
package sandbox
