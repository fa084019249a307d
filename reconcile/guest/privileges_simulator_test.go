package guest_test

import (
	"slices"
	"strings"
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// TestPrivilegesSufficeOnTheSimulator writes a value of every key with a token that has what Privileges asks for, and nothing else.
func TestPrivilegesSufficeOnTheSimulator(t *testing.T) {
	samples := guest.WrittenSamples()
	simulate(t, func(l lab) {
		written := 0
		for _, sample := range samples {
			vmid := l.renew(sample.Kind)
			d := guest.Desired{Ref: guest.Ref{Kind: sample.Kind, VMID: vmid}, Intents: []guest.Intent{sample.Intent}}
			if !l.grant(guest.Privileges(d), sample.Intent.Key) {
				continue // no token may write it
			}
			for _, change := range guest.Diff(d, l.observe(sample.Kind, vmid)) {
				if refusal := l.carryOut(sample, vmid, change); refusal != "" {
					t.Errorf("write %s %s=%q: %s", sample.Kind, change.Key, change.Value, refusal)
				}
				written++
			}
		}
		t.Logf("simulator: %d values written", written)
		if written < 300 {
			t.Errorf("values: got %d written, want at least 300", written)
		}
	})
}

// grant gives the client's token the needs, and reports whether a token may write the key.
func (l lab) grant(needs []guest.Need, key string) bool {
	l.Helper()
	var acl []pvesim.ACL
	for _, need := range needs {
		if need.Privilege == guest.RootPAM {
			if need.Key != key {
				l.Errorf("%s: got a need of %s for %s", key, need.Privilege, need.Key)
			}
			return false
		}
		acl = append(acl, pvesim.ACL{Path: need.Path, Privileges: []string{need.Privilege}})
	}
	l.sim.SetPrivileges("root@pam!full", acl)
	return true
}

// TestPrivilegesAreNeededOnTheSimulator takes each privilege of a key away in turn and wants Proxmox to miss it.
func TestPrivilegesAreNeededOnTheSimulator(t *testing.T) {
	tests := map[string]struct {
		kind   guest.Kind
		intent guest.Intent
	}{
		"cores":      {guest.VirtualMachine, guest.Intent{Key: "cores", Text: "2"}},
		"freeze":     {guest.VirtualMachine, guest.Intent{Key: "freeze", Text: "1"}},
		"hotplug":    {guest.VirtualMachine, guest.Intent{Key: "hotplug", Text: "disk"}},
		"boot":       {guest.VirtualMachine, guest.Intent{Key: "boot", Text: "order=net0"}},
		"localtime":  {guest.VirtualMachine, guest.Intent{Key: "localtime", Text: "1"}},
		"startup":    {guest.VirtualMachine, guest.Intent{Key: "startup", Text: "order=1"}},
		"card":       {guest.VirtualMachine, guest.Intent{Key: "net1", Sub: map[string]string{"bridge": "vmbr0", "tag": "5"}}},
		"disk":       {guest.VirtualMachine, guest.Intent{Key: "scsi2", Sub: map[string]string{"storage": "local", "size": "1G"}}},
		"tray":       {guest.VirtualMachine, guest.Intent{Key: "ide0", Sub: map[string]string{"volume": "none", "media": "cdrom"}}},
		"host_drive": {guest.VirtualMachine, guest.Intent{Key: "ide0", Sub: map[string]string{"volume": "cdrom", "media": "cdrom"}}},
		"cloud_init": {guest.VirtualMachine, guest.Intent{Key: "ide0", Sub: map[string]string{"volume": "cloudinit", "storage": "local"}}},
		"pci":        {guest.VirtualMachine, guest.Intent{Key: "hostpci0", Sub: map[string]string{"mapping": "gpu"}}},
		"usb":        {guest.VirtualMachine, guest.Intent{Key: "usb0", Sub: map[string]string{"mapping": "key"}}},
		"ct_memory":  {guest.Container, guest.Intent{Key: "memory", Text: "1024"}},
		"ct_mount":   {guest.Container, guest.Intent{Key: "mp0", Sub: map[string]string{"storage": "local", "size": "1G", "mp": "/data"}}},
		"ct_veth":    {guest.Container, guest.Intent{Key: "net1", Sub: map[string]string{"bridge": "vmbr0"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(l lab) {
				vmid := l.renew(test.kind)
				test.intent.Verb = guest.Want
				sample := guest.WrittenSample{Kind: test.kind, Intent: test.intent}
				d := guest.Desired{Ref: guest.Ref{Kind: test.kind, VMID: vmid}, Intents: []guest.Intent{test.intent}}
				needs, changes := guest.Privileges(d), guest.Diff(d, l.observe(test.kind, vmid))
				for _, need := range needs {
					if need.Key != test.intent.Key {
						continue
					}
					same := func(other guest.Need) bool { return other.Path == need.Path && other.Privilege == need.Privilege }
					l.grant(slices.DeleteFunc(slices.Clone(needs), same), need.Key)
					if refusal := l.carryOut(sample, vmid, changes[0]); !strings.Contains(refusal, need.Privilege) {
						t.Errorf("without %s on %s: got refusal %q, want one that names it", need.Privilege, need.Path, refusal)
					}
				}
			})
		})
	}
}

// TestCloneNeedsToMigrateOnTheSimulator makes a clone of a template on another node than the clone's, and takes it there.
func TestCloneNeedsToMigrateOnTheSimulator(t *testing.T) {
	simulate(t, func(l lab) {
		const template, vmid = 9000, 202
		if _, err := l.sim.AddVM(pvesim.Guest{VMID: template, Node: "pve2", Config: "template: 1\nscsi0: local:1\n"}); err != nil {
			t.Fatal(err)
		}
		d := guest.Desired{
			Ref: guest.Ref{Kind: guest.VirtualMachine, VMID: vmid}, Node: "pve1", Lifecycle: guest.Lifecycle{Destroy: guest.Deny},
			Source: guest.Source{Clone: &guest.Clone{VMID: template, Full: true, Storage: "local"}},
		}
		clone := cluster.Call{
			Op: cluster.OpCreate, Kind: d.Kind, Node: "pve2", VMID: vmid, CloneOf: template, Params: map[string]string{"full": "1", "storage": "local"},
		}
		migrate := cluster.Call{Op: cluster.OpMigrate, Kind: d.Kind, Node: "pve2", VMID: vmid, Params: map[string]string{"target": "pve1"}}
		needs := guest.Privileges(d)
		isMigrate := func(need guest.Need) bool { return need.Privilege == "VM.Migrate" }
		l.grant(slices.DeleteFunc(slices.Clone(needs), isMigrate), "node")
		if refusal := l.do(clone); refusal != "" {
			t.Fatalf("clone: got refusal %q, want none", refusal)
		}
		if refusal := l.do(migrate); !strings.Contains(refusal, "VM.Migrate") {
			t.Errorf("migrate without VM.Migrate: got refusal %q, want one that names it", refusal)
		}
		l.grant(needs, "node")
		if refusal := l.do(migrate); refusal != "" {
			t.Errorf("migrate: got refusal %q, want none", refusal)
		}
	})
}
