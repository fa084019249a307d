// Package manifests contains example manifests for users to copy. Each folder is a complete repository with one Cluster: demo (for cmd/demo),
// homelab, fleet, containers, k3s, windows, legacy, agent, encrypted, firewall, ha, sets, ports and company; docs/manifests.md describes them. The tests and the demonstration read them from here.
// schema.json is the JSON schema of manifests for editors.
//
// The only symbol is Files.
package manifests

import "embed"

// Files contains the examples by their path in this folder, such as "homelab/vms/docker.yaml".
//
//go:embed */*.yaml */*/*.yaml
var Files embed.FS
