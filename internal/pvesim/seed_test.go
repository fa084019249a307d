package pvesim

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// configTexts returns the config files of all guests.
func configTexts(s *Sim) map[int]string {
	out := map[int]string{}
	for _, g := range s.Guests() {
		out[g.VMID] = s.Config(g.VMID)
	}
	return out
}

func TestSeedIsDeterministic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first map[int]string
		for range 5 {
			c := newClient(t, Options{Guests: 40, Seed: 7})
			c.task("POST", "/nodes/pve1/qemu", "vmid=100", "net0=virtio,bridge=vmbr0", "net1=virtio,bridge=vmbr1", "net2=e1000,bridge=vmbr0")
			got := configTexts(c.sim)
			for id, text := range got { // creation times follow the clock
				got[id] = strings.ReplaceAll(text, c.sim.Value(id, "meta"), "")
			}
			if first == nil {
				first = got
			}
			if diff := cmp.Diff(first, got); diff != "" {
				t.Fatalf("same seed (-first +later):\n%s", diff)
			}
			c.sim.Close()
		}
		other := New(Options{Guests: 40, Seed: 8})
		defer other.Close()
		if cmp.Equal(first[1000], other.Config(1000)) {
			t.Error("other seed: got the same guest, want another")
		}
	})
}

func TestGeneratedGuestsAreOfBothKinds(t *testing.T) {
	sim := New(Options{Guests: 100, Nodes: []string{"a", "b"}})
	defer sim.Close()
	kinds, nodes, running := map[Kind]int{}, map[string]int{}, 0
	for _, g := range sim.Guests() {
		kinds[g.Kind]++
		nodes[g.Node]++
		if g.Running {
			running++
		}
	}
	if kinds[QEMU] != 75 || kinds[LXC] != 25 || nodes["a"] != 50 || nodes["b"] != 50 || running != 50 {
		t.Errorf("generated: got %v on %v, %d running, want 75 VMs and 25 containers on two nodes, half of them running", kinds, nodes, running)
	}
	for _, v := range sim.Volumes() {
		if v.Owner < 1000 || v.Size == 0 {
			t.Errorf("volume %s: got owner %d and size %d, want a guest's", v.ID, v.Owner, v.Size)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	sim := New(Options{})
	defer sim.Close()
	if _, err := sim.AddVM(Guest{VMID: 100}); err != nil {
		t.Fatal(err)
	}
	for name, g := range map[string]Guest{
		"taken":           {VMID: 100},
		"unknown_storage": {VMID: 101, Config: "scsi0: nosuch:vm-101-disk-0\n"},
		"bad_net":         {VMID: 102, Config: "net0: bridge=vmbr0\n"},
	} {
		if id, err := sim.AddVM(g); err == nil {
			t.Errorf("%s: got guest %d, want an error", name, id)
		}
	}
	if err := sim.AddVolume("local:nonsense", 1); err == nil {
		t.Error("volume with a bad name: got no error, want one")
	}
	if err := sim.AddVolume("nosuch:iso/x.iso", 1); err == nil {
		t.Error("volume on an unknown storage: got no error, want one")
	}
}
