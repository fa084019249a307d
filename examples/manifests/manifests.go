// Package manifests holds example manifests for users to copy. Each folder is a repository of its own, with one Cluster. Tests and the
// demo read them from here.
package manifests

import "embed"

// Files are the examples, by their path within this folder: "homelab/vms/docker.yaml".
//
//go:embed */*.yaml */*/*.yaml
var Files embed.FS
