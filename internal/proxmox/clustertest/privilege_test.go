package clustertest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// The suite shows that the documented roles are sufficient. This test shows that each privilege is necessary: without it, Proxmox
// rejects a call and names the privilege. The exceptions are Datastore.Audit, which is for storages with images on which AllocateSpace is not
// granted, and Pool.Audit: Proxmox 9 shows one pool without it, and hides the pools of guests.
func TestEveryPrivilegeIsNeeded(t *testing.T) {
	all := documented(t, pvesim.Options{})
	for _, entry := range all.Users[0].ACL {
		for _, privilege := range entry.Privileges {
			if privilege == "Datastore.Audit" || privilege == "Pool.Audit" {
				continue
			}
			t.Run(privilege, func(t *testing.T) {
				refusals := refused(t, without(all, privilege))
				if !slices.ContainsFunc(refusals, func(err error) bool { return strings.Contains(err.Error(), privilege) }) {
					t.Errorf("got refusals %v, want one that names %s", refusals, privilege)
				}
			})
		}
	}
	if got := refused(t, all); len(got) > 0 {
		t.Errorf("got refusals %v with every privilege, want none", got)
	}
}

// without removes a privilege from the user's roles.
func without(options pvesim.Options, privilege string) pvesim.Options {
	user := options.Users[0]
	user.ACL = slices.Clone(user.ACL)
	for i, entry := range user.ACL {
		kept := slices.DeleteFunc(slices.Clone(entry.Privileges), func(p string) bool { return p == privilege })
		user.ACL[i].Privileges = kept
	}
	options.Users = []pvesim.User{user}
	return options
}

// refused carries out the calls of an agent and returns the errors of the denied calls. Proxmox denies a call before it starts a
// task, but for a backup.
func refused(t *testing.T, options pvesim.Options) (refusals []error) {
	t.Helper()
	options.Nodes = []string{"pve1", "pve2"}
	sim := pvesim.New(options)
	t.Cleanup(sim.Close)
	if err := sim.AddVolume("local:iso/tiny.iso", 17<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := sim.AddTemplate(pvesim.Guest{VMID: 9000, Config: "scsi0: local-lvm:1\n"}); err != nil {
		t.Fatal(err)
	}
	for vmid := 100; vmid < 100+len(agentCalls()); vmid++ {
		if _, err := sim.AddVM(pvesim.Guest{VMID: vmid, Config: "scsi0: local-lvm:1\nide2: local-lvm:cloudinit\n"}); err != nil {
			t.Fatal(err)
		}
	}
	client := connect(t, proxmox.Options{Endpoints: []string{"https://pve1"}, Transport: sim.Transport(), TokenFile: file(t, sim.Token(agentToken))})
	record := func(err error) {
		if errors.Is(err, cluster.ErrDenied) {
			refusals = append(refusals, err)
		}
	}
	record(client.Ready(t.Context()))
	_, err := client.Observe(t.Context(), cluster.Row{Kind: guest.VirtualMachine, VMID: 100, Node: "pve1"})
	record(err)
	_, err = client.HA(t.Context())
	record(err)
	record(client.SetPoolComment(t.Context(), "gitops-agent", "a floor"))
	_, _, err = client.PoolComment(t.Context(), "gitops-agent")
	record(err)
	for i, call := range agentCalls() {
		call.Kind, call.Node, call.VMID = guest.VirtualMachine, "pve1", 100+i // one guest for each call
		if call.Op == cluster.OpCreate {
			call.VMID = 500 + i
		}
		upid, err := client.Do(t.Context(), call, nil)
		record(err)
		if call.Op == cluster.OpBackup && err == nil { // the only call that Proxmox denies in its task
			task, err := client.Wait(t.Context(), upid)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(task.Exit, "Permission check failed") {
				refusals = append(refusals, errors.New(task.Exit))
			}
		}
	}
	return refusals
}

// agentCalls returns calls that together need every privilege of the roles.
func agentCalls() []cluster.Call {
	config := func(key, value string) cluster.Call {
		return cluster.Call{Op: cluster.OpConfig, Params: map[string]string{key: value}}
	}
	return []cluster.Call{
		config("cores", "2"), config("memory", "64"), config("scsihw", "virtio-scsi-pci"), config("onboot", "1"), config("net0", "virtio,bridge=vmbr0"),
		config("scsi1", "local-lvm:1"), config("ide3", "local:iso/tiny.iso,media=cdrom"),
		{Op: cluster.OpCreate, Params: map[string]string{"memory": "64"}},
		{Op: cluster.OpCreate, CloneOf: 9000},
		{Op: cluster.OpCloudInit},
		{Op: cluster.OpStart},
		{Op: cluster.OpMigrate, Params: map[string]string{"target": "pve2"}},
		{Op: cluster.OpPool, Params: map[string]string{"poolid": "gitops-agent"}},
		{Op: cluster.OpHAAdd, Params: map[string]string{"state": "stopped"}},
		{Op: cluster.OpSnapshot, Params: map[string]string{"snapname": "s1"}},
		{Op: cluster.OpBackup, Params: map[string]string{"storage": "local"}},
	}
}
