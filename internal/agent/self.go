package agent

import "gitops-agent/reconcile/hostguest"

// self returns what is known of the guest in which the agent runs. Root is the root of the host's file system.
func (c Config) self(root string) hostguest.Facts {
	facts := hostguest.Read(root)
	facts.VMID = c.Proxmox.SelfVMID
	return facts
}
