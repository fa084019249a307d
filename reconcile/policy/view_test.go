package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gitops-agent/reconcile/guest"
)

func want(key string, sub map[string]string) guest.Intent {
	return guest.Intent{Key: key, Verb: guest.Want, Sub: sub}
}

func text(key, value string) guest.Intent {
	return guest.Intent{Key: key, Verb: guest.Want, Text: value}
}

func set(value string) guest.Value { return guest.Value{Text: value, Set: true} }

// TestGuestAfter shows a machine with what its manifest changes, and what the manifest leaves alone.
func TestGuestAfter(t *testing.T) {
	t.Parallel()
	ref := guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}
	pending := "8192"
	live := &guest.Observed{Ref: ref, Node: "pve1", Status: guest.StatusRunning, Pool: "web", Keys: map[string]guest.Value{
		"cores": set("2"), "memory": {Text: "4096", Set: true, Pending: &pending}, "tags": set("web;gitops-0123abcd"), "cipassword": set("**********"),
		"net0": set("virtio=AA:BB:CC:00:11:22,bridge=vmbr0,tag=20"), "net1": set("virtio=AA:BB:CC:00:11:23,bridge=vmbr9"), "onboot": set("1"),
		"scsi0": set("local-lvm:vm-201-disk-0,size=64G"), "scsi1": set("local-lvm:vm-201-disk-1,size=8G"), "ide2": set("local:iso/debian.iso,media=cdrom"),
		"ide0": set("local-lvm:vm-201-cloudinit,media=cdrom"), "efidisk0": set("local-lvm:vm-201-disk-9,size=4M"),
	}}
	desired := &guest.Desired{
		Ref: ref, State: guest.Running, Labels: map[string]string{"stage": "prod"}, Ignore: []string{"net1.bridge"},
		Lifecycle: guest.Lifecycle{Destroy: guest.Approve, Recreate: guest.Deny, RebootPolicy: guest.RebootNever},
		Intents: []guest.Intent{
			text("cores", "4"),
			{Key: "ide2", Verb: guest.Absent},
			want("net0", map[string]string{"bridge": "vmbr1", "firewall": "1"}), want("net1", map[string]string{"bridge": "vmbr0"}),
			want("scsi0", map[string]string{"storage": "local-lvm", "size": "32G", "backup": "0"}), want("scsi1", map[string]string{"storage": "ceph", "size": "16G"}),
			want("scsi2", map[string]string{"storage": "ceph", "size": "8G"}), text("sockets", "2"), text("tags", "prod;web"),
		},
		Secrets: []guest.Secret{{Key: "cipassword", File: "web"}},
	}
	got := NewGuest(desired, live, func(field string) []string {
		return map[string][]string{"net0": {"olga"}, "scsi0": {"wanda"}, "spec.node": {"olga"}}[field]
	})
	if config := got.config(); config["cipassword"] != "" || config["onboot"] != "1" {
		t.Errorf("got config %v, want onboot and no password", config)
	}
	if diff := cmp.Diff(map[string][]string{"net0": {"olga"}, "scsi0": {"wanda"}, "spec.node": {"olga"}}, got.fieldSigners()); diff != "" {
		t.Error(diff)
	}
	wanted := &Guest{
		Exists: true, Kind: "VirtualMachine", Name: "web-1", VMID: 201, Node: "pve1", Pool: "web", State: "running", Tags: []string{"prod", "web"}, Labels: map[string]string{"stage": "prod"},
		CPU: CPU{4, 2}, Memory: 8 << 30, OnBoot: true, Lifecycle: Lifecycle{"approve", "deny", "never"},
		Disks: []Disk{
			{Slot: "efidisk0", Kind: "efi", Storage: "local-lvm", Volume: "local-lvm:vm-201-disk-9", Size: 4 << 20, Backup: true},
			{Slot: "ide0", Kind: "cloudinit", Storage: "local-lvm", Volume: "local-lvm:vm-201-cloudinit", Backup: true},
			{Slot: "scsi0", Kind: "disk", Storage: "local-lvm", Volume: "local-lvm:vm-201-disk-0", Size: 64 << 30, Signers: []string{"wanda"}},
			{Slot: "scsi1", Kind: "disk", Storage: "ceph", Size: 16 << 30, Backup: true},
			{Slot: "scsi2", Kind: "disk", Storage: "ceph", Size: 8 << 30, Backup: true},
		},
		Networks: []Network{
			{Slot: "net0", Bridge: "vmbr1", VLAN: 20, Firewall: true, Connected: true, MAC: "AA:BB:CC:00:11:22", Signers: []string{"olga"}},
			{Slot: "net1", Bridge: "vmbr9", Connected: true, MAC: "AA:BB:CC:00:11:23"},
		},
	}
	if diff := cmp.Diff(wanted, got, cmpopts.IgnoreUnexported(Guest{})); diff != "" {
		t.Error(diff)
	}
	before := ObservedGuest(live, nil)
	if before.Memory != 4<<30 || before.CPU.Total() != 2 || len(before.Disks) != 5 || before.State != "running" || len(before.Tags) != 1 {
		t.Errorf("got %+v", before)
	}
}

// TestNewContainer shows a container that does not exist yet.
func TestNewContainer(t *testing.T) {
	t.Parallel()
	got := NewGuest(&guest.Desired{
		Ref: guest.Ref{Kind: guest.Container, Name: "ct-1"}, Node: "pve2", Pool: "web", State: guest.Ignored,
		Intents: []guest.Intent{
			text("memory", "1024"), want("mp0", map[string]string{"storage": "local", "size": "8G", "mp": "/data"}), want("mp1", map[string]string{"volume": "/srv", "mp": "/srv"}),
			want("mp2", map[string]string{"storage": "local", "size": "8G", "mp": "/b", "backup": "1"}), want("net0", map[string]string{"name": "eth0", "bridge": "vmbr0", "link_down": "1"}),
			want("rootfs", map[string]string{"storage": "local", "size": "8G"}), text("unprivileged", "1"),
		},
	}, nil, nil)
	wanted := &Guest{
		Exists: true, Kind: "Container", Name: "ct-1", Node: "pve2", Pool: "web", State: "ignored", CPU: CPU{0, 1}, Memory: 1 << 30,
		Disks: []Disk{
			{Slot: "mp0", Kind: "mount", Storage: "local", Size: 8 << 30},
			{Slot: "mp1", Kind: "bind", Volume: "/srv"},
			{Slot: "mp2", Kind: "mount", Storage: "local", Size: 8 << 30, Backup: true},
			{Slot: "rootfs", Kind: "rootfs", Storage: "local", Size: 8 << 30, Backup: true},
		},
		Networks: []Network{{Slot: "net0", Bridge: "vmbr0"}},
	}
	if diff := cmp.Diff(wanted, got, cmpopts.IgnoreUnexported(Guest{})); diff != "" {
		t.Error(diff)
	}
}
