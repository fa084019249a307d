package guest

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gitops-agent/reconcile/guest/form"
)

// Each test is named for something that went wrong elsewhere, with this or that tool, and must not go wrong here. Those that
// need a cluster to happen are in the package above.

func TestIncidentEmptyValueReadsBackAsOneBlank(t *testing.T) {
	for _, key := range []string{"tags", "nameserver", "searchdomain", "ipconfig0", "ciuser", "boot", "vga", "cicustom"} {
		holds(t, VirtualMachine, absent(key), " ")
	}
	holds(t, VirtualMachine, text("nameserver", ""), " ")
	holds(t, VirtualMachine, text("tags", ""), " ")
	holds(t, VirtualMachine, subs("vga", "type=std"), " ")
}

func TestIncidentTagsAreReorderedForever(t *testing.T) {
	holds(t, VirtualMachine, text("tags", "B;a"), "a;b")
	holds(t, VirtualMachine, text("tags", "a;b"), "b;a") // as a cluster that keeps the order shows them
	holds(t, VirtualMachine, text("tags", "b a,b"), "a;b")
	holds(t, Container, text("tags", "tag with space"), "space;tag;with")
}

// TestIncidentCardGetsAnotherAddress: Proxmox draws a MAC address for every card that is written without one.
func TestIncidentCardGetsAnotherAddress(t *testing.T) {
	const mac = "BC:24:11:C4:03:21"
	vm, ct := live(keys{"net0": "virtio=" + mac + ",bridge=vmbr0"}), container(live(keys{"net0": "name=eth0,bridge=vmbr0,hwaddr=" + mac + ",type=veth"}))
	for _, in := range []Intent{
		text("net0", "virtio,bridge=vmbr1"), text("net0", "model=e1000,bridge=vmbr0"), subs("net0", "model=virtio", "bridge=vmbr0", "tag=20", "firewall=1"),
		subs("net0", "link_down=1"), subs("net0", "mtu=1400"),
	} {
		if got := Diff(want(vm, in), vm); len(got) != 1 || !strings.Contains(got[0].Value, "="+mac+",") {
			t.Errorf("%v: got %v, want the live address sent along", in, briefs(got))
		}
	}
	for _, in := range []Intent{text("net0", "name=eth0,bridge=vmbr1"), subs("net0", "ip=dhcp"), subs("net0", "name=eth1", "tag=20")} {
		if got := Diff(want(ct, in), ct); len(got) != 1 || !strings.Contains(got[0].Value, "hwaddr="+mac) {
			t.Errorf("%v: got %v, want the live address sent along", in, briefs(got))
		}
	}
}

// TestIncidentSlotIsAllocatedAgain: "local:1" written to a slot that holds a volume makes a second one and detaches the first.
func TestIncidentSlotIsAllocatedAgain(t *testing.T) {
	check := func(t *rapid.T, kind Kind, samples, wishes map[string][]string) {
		o := drawObserved(t, kind, samples)
		for _, c := range Diff(drawDesired(t, o, samples, wishes), o) {
			_, next := nowAndNext(o.Keys[c.Key])
			r, _ := find(kind, c.Key)
			if r.drive && c.Write == WriteSet && form.Allocates(volumeOf(c.Value)) && next != "" && !isTray(volumeOf(next)) {
				t.Fatalf("%s holds %q: got %q written", c.Key, next, c.Value)
			}
		}
	}
	t.Run("virtual_machine", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { check(t, VirtualMachine, vmTexts, vmSubs) }) })
	t.Run("container", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { check(t, Container, ctTexts, ctSubs) }) })
}

func TestIncidentShrinkDetachesTheDisk(t *testing.T) {
	for _, o := range []Observed{live(keys{"scsi0": liveDisk}), running(keys{"scsi0": liveDisk})} {
		if got := Diff(want(o, subs("scsi0", "storage=local-lvm", "size=8G")), o); len(got) != 0 {
			t.Errorf("%s: got %v, want nothing written", o.Status, briefs(got))
		}
	}
}

// TestIncidentRootVolumeIsRewritten: what is written as a container's rootfs is stored as it is, without a volume behind it.
func TestIncidentRootVolumeIsRewritten(t *testing.T) {
	o := container(live(keys{"rootfs": "local:401/vm-401-disk-0.raw,size=8G"}))
	for _, in := range []Intent{
		subs("rootfs", "storage=ceph", "size=4G", "quota=1"), subs("rootfs", "storage=ceph", "size=16G", "quota=1"), subs("rootfs", "volume=ceph:vm-401-disk-9", "quota=1"),
		text("rootfs", "ceph:8,quota=1"), absent("rootfs"),
	} {
		for _, change := range Diff(want(o, in), o) {
			if change.Write == WriteDelete || change.Write == WriteSet && change.Value != "local:401/vm-401-disk-0.raw,size=8G,quota=1" {
				t.Errorf("%v: got %s, want the live volume and size, or nothing", in, brief(change))
			}
		}
	}
}

func TestIncidentPendingChangeIsTakenForApplied(t *testing.T) {
	o := running(keys{"cores": "2 ? 4"})
	got := Diff(want(o, text("cores", "4")), o)
	if len(got) != 1 || !got[0].Waits || got[0].Write != WriteNone {
		t.Errorf("changes: got %v, want one that waits and is not written again", briefs(got))
	}
}

// TestIncidentPasswordIsSentAgain: Proxmox shows a password as asterisks. A password that is sent again is hashed with a new salt, and cloud-init reruns.
func TestIncidentPasswordIsSentAgain(t *testing.T) {
	holds(t, VirtualMachine, text("cipassword", "$6$abc$def"), hidden)
	o := running(keys{"ide2": liveInit, "cipassword": hidden})
	d := want(o, text("ciuser", "ops"))
	d.Secrets = []Secret{{Key: "cipassword", File: "web"}}
	if got := Diff(d, o); slices.ContainsFunc(got, func(c Change) bool { return c.Key == "cipassword" }) {
		t.Errorf("changes: got %v, want no password among them", briefs(got))
	}
}

// TestIncidentSpellingReprintsCloudInit: the order and the spelling of cloud-init's keys change nothing in the guest.
func TestIncidentSpellingReprintsCloudInit(t *testing.T) {
	const one, two = "ssh-ed25519%20AAAAC3%2Fdc%2B%20a%40b", "ssh-rsa%20AAAAB3%3D%3D%20c"
	holds(t, VirtualMachine, text("sshkeys", one+"%0A"+two), two+"%0A"+one+"%0A")
	holds(t, VirtualMachine, text("ipconfig0", "ip=10.0.0.5/24,gw=10.0.0.1,ip6=auto"), "ip6=auto,gw=10.0.0.1,ip=10.0.0.5/24")
	holds(t, VirtualMachine, text("nameserver", "1.1.1.1 8.8.8.8"), "1.1.1.1,8.8.8.8")
	holds(t, VirtualMachine, text("ciupgrade", "1"), "1")
	holds(t, VirtualMachine, subs("cicustom", "user=local:snippets/u.yaml", "vendor=local:snippets/v.yaml"), "vendor=local:snippets/v.yaml,user=local:snippets/u.yaml")
}

// TestIncidentMovedGuestIsReplaced: a guest that HA or its owner moved is on another node than the manifest names, and nothing more.
func TestIncidentMovedGuestIsReplaced(t *testing.T) {
	for _, ha := range []bool{false, true} {
		o := onPVE2(running(keys{"cores": "2"}))
		o.HA = ha
		d := want(o, text("cores", "2"))
		d.Node, d.Nodes = "pve1", []string{"pve1"}
		if got := Diff(d, o); len(got) != 0 {
			t.Errorf("under HA %t: got %v, want no change", ha, briefs(got))
		}
	}
}

func TestIncidentProtectedGuestLosesADisk(t *testing.T) {
	o := live(keys{"scsi0": liveDisk, "unused0": "local-lvm:vm-201-disk-1", "protection": "1"})
	for _, c := range Diff(want(o, absent("scsi0"), absent("unused0")), o) {
		if !c.Guarded {
			t.Errorf("change: got %s, want the protection to stand against it", brief(c))
		}
	}
}
