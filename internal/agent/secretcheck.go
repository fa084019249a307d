package agent

import "gitops-agent/reconcile"

// CheckSecret returns why guests cannot be given the secret of that name, or nil. The error is a *reconcile.SecretError, which says
// what would help. It needs to run as the agent's user or as root.
func (c Config) CheckSecret(name string) error {
	if c.SecretsDir == "" {
		return reconcile.Secrets{}.Check(name)
	}
	return reconcile.Secrets{Read: newSecretDir(c.SecretsDir).read}.Check(name)
}
