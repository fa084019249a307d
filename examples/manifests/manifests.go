// Package manifests holds example manifests for users to copy. Tests and the demo read them from here.
package manifests

import "embed"

// Files are the examples, by their path within this folder.
//
//go:embed *.yaml legacy/*.yaml
var Files embed.FS
