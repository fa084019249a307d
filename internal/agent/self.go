package agent

import (
	"crypto/x509"
	"fmt"

	"gitops-agent/internal/outbound"
	"gitops-agent/internal/proxmox"
	"gitops-agent/reconcile/health"
	"gitops-agent/reconcile/hostguest"
)

// health returns the options of health checks. ReadConfig has checked the addresses.
func (c Config) health(client *proxmox.Client) (health.Options, error) {
	allow, _ := health.ParseAllow(c.Checks.Allow)
	roots, err := c.Checks.roots()
	return health.Options{Allow: allow, Ping: client.PingAgent, Roots: roots}, err
}

// roots returns the authorities of the system and those of CAFile, nil without CAFile.
func (c ChecksConfig) roots() (*x509.CertPool, error) {
	roots, err := outbound.Authorities(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("checks.ca_file: %w", err)
	}
	return roots, nil
}

// self returns what is known of the guest in which the agent runs. Root is the root of the host's file system.
func (c Config) self(root string) hostguest.Facts {
	facts := hostguest.Read(root)
	facts.VMID = c.Proxmox.SelfVMID
	return facts
}
