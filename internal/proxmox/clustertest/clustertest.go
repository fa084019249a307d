package clustertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
)

// Target is a cluster that the suite may change.
type Target struct {
	Cluster     cluster.Cluster
	Denied      cluster.Cluster // the same cluster, with a token that it refuses
	Nodes       []string        // that are online: guests are made on the first, and go to the second if there is one
	Storage     string          // where disks are allocated; it has to allow linked clones, or that test is left out
	Bridge      string          // of network devices
	First, Last int             // vmids for the suite alone, both inclusive; thirty are enough

	// What a cluster may lack.
	OtherStorage string    // where disks go from Storage
	Template     string    // volume that containers are made from, "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst"
	ISO          string    // volume, "local:iso/tiny.iso"
	Pools        [2]string // that exist

	// Lacks is told what the cluster does not have for a test; nil skips the test.
	Lacks func(t *testing.T, what string)
	// Deafen makes a virtual machine ignore requests to shut down; nil where one without a system does so by itself.
	Deafen func(vmid int) error
	// LockTimeout is how long the cluster waits for a guest's lock. 0 is 10 seconds.
	LockTimeout time.Duration
}

// vmids is how many the suite needs.
const vmids = 30

// Run runs the suite. It fails at once, before it changes anything, if a vmid of the range is taken.
func Run(t *testing.T, target Target) {
	if err := target.check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if target.LockTimeout == 0 {
		target.LockTimeout = 10 * time.Second
	}
	s := &suite{Target: target, next: target.First}
	for _, theme := range []struct {
		name string
		test func(t *testing.T, s *suite)
	}{
		{"ready", testReady},
		{"absent", testAbsent},
		{"denied", testDenied},
		{"life", testLife},
		{"iso", testISO},
		{"pending", testPending},
		{"shutdown", testShutdown},
		{"reboot", testReboot},
		{"disks", testDisks},
		{"disk_move", testDiskMove},
		{"network", testNetwork},
		{"cloudinit", testCloudInit},
		{"template", testTemplate},
		{"container", testContainer},
		{"container_volumes", testContainerVolumes},
		{"container_power", testContainerPower},
		{"conflict", testConflict},
		{"locked", testLocked},
		{"protected", testProtected},
		{"warnings", testWarnings},
		{"pool", testPool},
		{"ha", testHA},
		{"migrate", testMigrate},
		{"migrate_container", testMigrateContainer},
	} {
		t.Run(theme.name, func(t *testing.T) { theme.test(t, s) })
	}
}

// suite is a run on a target. Its tests run one after the other.
type suite struct {
	Target
	next int // vmid
}

// vmid hands out a vmid that no test has had: Proxmox's lists lag, and what is left of one guest must not be taken for the next.
func (s *suite) vmid(t *testing.T) int {
	t.Helper()
	if s.next > s.Last {
		t.Fatalf("got no vmid left up to %d, want a wider range", s.Last)
	}
	s.next++
	return s.next - 1
}

// lacks ends a test for which the cluster does not have what it needs.
func (s *suite) lacks(t *testing.T, what string) {
	t.Helper()
	if s.Lacks == nil {
		t.Skipf("the cluster has no %s", what)
	}
	s.Lacks(t, what)
}

// check refuses a range that is too small or not known to be empty.
func (target Target) check(ctx context.Context) error {
	if len(target.Nodes) == 0 {
		return fmt.Errorf("nodes: none is online")
	}
	if target.Last-target.First+1 < vmids {
		return fmt.Errorf("vmids %d to %d: want %d at least", target.First, target.Last, vmids)
	}
	for vmid := target.First; vmid <= target.Last; vmid++ {
		taken, err := target.Cluster.Exists(ctx, vmid)
		if err != nil {
			return err
		}
		if taken {
			return fmt.Errorf("vmid %d is taken: want an empty range", vmid)
		}
	}
	return nil
}

func testReady(t *testing.T, s *suite) {
	if err := s.Cluster.Ready(t.Context()); err != nil {
		t.Errorf("got error %v, want a cluster that is ready", err)
	}
}
