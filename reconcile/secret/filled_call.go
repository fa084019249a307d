package secret

import "gitops-agent/reconcile/cluster"

// FilledCall is a call with the contents of its secrets, as it is sent.
type FilledCall struct {
	Call         cluster.Call
	Fingerprints map[string]string // of the secrets in the call, by key
}
