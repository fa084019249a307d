package agent

import (
	"gitops-agent/reconcile/secret"
)

// CheckSecret returns why guests cannot be given the secret of that name, or nil. The error is a *reconcile.SecretError, which says
// what would help. It needs to run as the agent's user or as root.
func (c Config) CheckSecret(name string) error {
	if c.SecretsDir == "" {
		return secret.Source{}.Check(name)
	}
	return secret.Source{Read: newSecretDir(c.SecretsDir).read}.Check(name)
}
