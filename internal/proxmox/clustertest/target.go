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
	Denied      cluster.Cluster // the same cluster, with a token that the cluster rejects
	Nodes       []string        // online nodes: guests are created on the first, and migrate to the second if there is one
	Storage     string          // of new disks; the test of linked clones is skipped if the storage does not allow them
	Bridge      string          // of network devices
	First, Last int             // vmids that only the suite uses, both inclusive; thirty are enough

	// Optional values. A test that needs one of them is skipped if the value is empty.
	OtherStorage string    // disks move from Storage to this storage
	Template     string    // volume from which containers are created, "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst"
	ISO          string    // volume, "local:iso/tiny.iso"
	Pools        [2]string // existing pools
	Backups      string    // storage of backups: the suite makes one small backup there, and leaves it

	// Lacks is called if the cluster lacks something that a test needs; nil skips the test.
	Lacks func(t *testing.T, what string)
	// IgnoreShutdown makes a virtual machine ignore requests to shut down. It is nil if a machine without an operating system ignores them by
	// itself.
	IgnoreShutdown func(vmid int) error
	// LockTimeout is how long the cluster waits for a guest's lock. 0 is 10 seconds.
	LockTimeout time.Duration
}

// vmids is the number of vmids that the suite needs.
const vmids = 30

// check rejects a target without nodes, and a range that is too small or not known to be empty.
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
