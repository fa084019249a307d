// Command sandbox shows what gitops-agent would make of a repository, without a cluster and without network: the real agent works on a simulated
// Proxmox cluster that has what the manifests name.
//
// It copies the manifests into a temporary directory, signs them with a Sigstore in memory, and lets the agent plan and converge. It never writes to the
// repository of the user.
//
// Main types: source (the user's directory or revision), world (the simulated cluster, derived from the manifests) and session (one run). The parts that
// cmd/demo shares are in internal/sandbox.
//
// Start with run in main.go and session.run in session.go.
package main
