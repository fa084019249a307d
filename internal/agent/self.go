package agent

import (
	"gitops-agent/internal/proxmox"
	"gitops-agent/reconcile/health"
	"gitops-agent/reconcile/hostguest"
)

// health returns the options of health checks. ReadConfig has checked the addresses.
func (c Config) health(client *proxmox.Client) health.Options {
	allow, _ := health.ParseAllow(c.Checks.Allow)
	return health.Options{Allow: allow, Ping: client.PingAgent}
}

// self returns what is known of the guest in which the agent runs. Root is the root of the host's file system.
func (c Config) self(root string) hostguest.Facts {
	facts := hostguest.Read(root)
	facts.VMID = c.Proxmox.SelfVMID
	return facts
}
