package report

import (
	"time"
)

// Reasons of a RefusedError, in addition to the reasons of a verify.RejectedError.
const (
	RefusedManifests = "manifests"
	RefusedCluster   = "wrong-cluster"
	RefusedTree      = "tree"
	RefusedScope     = "out-of-scope" // package verify uses the same reason for paths
)

// RefusedReasons lists the reasons, for metrics that start at zero.
func RefusedReasons() []string {
	return []string{RefusedManifests, RefusedCluster, RefusedTree, RefusedScope}
}

// Refused describes the refused head.
type Refused struct {
	Commit string    `json:"commit"`
	Reason string    `json:"reason"`
	Error  string    `json:"error"`
	Hint   string    `json:"hint,omitempty"`
	Since  time.Time `json:"since"`
}
