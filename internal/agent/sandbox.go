package agent

// InSandbox returns the config for an agent whose cluster and Sigstore are simulated. It trusts only authorities with verify.SandboxMarker, which every
// other agent refuses. Only programs that simulate call it: no setting of the file and no flag of gitops-agent does the same.
func (c Config) InSandbox() Config {
	c.sandbox = true
	return c
}
