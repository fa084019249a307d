package clustertest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// A test that ends early leaves its guest in any state and on any node. destroy removes the guest in each case.
func TestDestroyFromAnyState(t *testing.T) {
	tests := map[string]struct {
		kind  guest.Kind
		left  pvesim.Guest
		calls []cluster.Op // of the test, before it ended
	}{
		"stopped":           {guest.VirtualMachine, pvesim.Guest{}, nil},
		"running":           {guest.VirtualMachine, pvesim.Guest{Running: true}, nil},
		"protected":         {guest.VirtualMachine, pvesim.Guest{Config: "protection: 1\nscsi0: local-lvm:1\n", Running: true}, nil},
		"on_the_other_node": {guest.VirtualMachine, pvesim.Guest{Node: "pve2", Running: true}, nil},
		"under_ha":          {guest.VirtualMachine, pvesim.Guest{Running: true}, []cluster.Op{cluster.OpHAAdd}},
		"template":          {guest.VirtualMachine, pvesim.Guest{Config: "scsi0: local-lvm:1\n"}, []cluster.Op{cluster.OpTemplate}},
		"container":         {guest.Container, pvesim.Guest{Config: "protection: 1\n", Running: true}, nil},
		"container_away":    {guest.Container, pvesim.Guest{Node: "pve2"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			sim := pvesim.New(pvesim.Options{Nodes: []string{"pve1", "pve2"}, TaskTime: time.Microsecond})
			t.Cleanup(sim.Close)
			add := sim.AddVM
			if test.kind == guest.Container {
				add = sim.AddCT
			}
			test.left.VMID = 9000
			if _, err := add(test.left); err != nil {
				t.Fatal(err)
			}
			m := &testGuest{suite: &suite{Target: Target{Cluster: rootClient(t, sim)}}, kind: test.kind, vmid: 9000, node: "pve1"}
			for _, op := range test.calls {
				m.do(t, op, nil)
			}
			for range 2 { // the second time the guest does not exist
				if err := m.destroy(t.Context()); err != nil || len(sim.Guests()) != 0 {
					t.Errorf("got error %v and guests %v, want none", err, sim.Guests())
				}
			}
		})
	}
}

// A lost worker leaves a guest with a lock that no token can remove. destroy reports the lock.
func TestDestroyReportsALock(t *testing.T) {
	sim := pvesim.New(pvesim.Options{TaskTime: time.Microsecond})
	t.Cleanup(sim.Close)
	if _, err := sim.AddVM(pvesim.Guest{VMID: 9000, Config: "lock: clone\n"}); err != nil {
		t.Fatal(err)
	}
	m := &testGuest{suite: &suite{Target: Target{Cluster: rootClient(t, sim)}}, kind: guest.VirtualMachine, vmid: 9000, node: "pve1"}
	if err := m.destroy(t.Context()); !errors.Is(err, cluster.ErrLocked) {
		t.Errorf("got error %v, want ErrLocked", err)
	}
}

// rootClient returns a client with the token of root, which has every privilege.
func rootClient(t *testing.T, sim *pvesim.Sim) *proxmox.Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(sim.Token("root@pam!full")), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := proxmox.New(proxmox.Options{Endpoints: []string{"https://pve1"}, TokenFile: path, Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}
