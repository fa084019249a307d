package lane

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

const haRequest = "UPID:pve1:0000FFF0:00001000:6A000000:hamigrate:201:gitops@pve!agent:"

// movingGuests is a cluster whose HA manager moves guests from pve1 to pve2 until a time. Each reading takes 10 ms.
type movingGuests struct {
	cluster.Cluster // nil: a test that calls anything else panics
	vmids           []int
	until           time.Time
	state           string // of the manager meanwhile; "" is migrate
	tasks           error
	reads           atomic.Int32 // of the state of the HA manager
}

func (c *movingGuests) HAMaster(context.Context) (cluster.HAMaster, error) {
	c.reads.Add(1)
	time.Sleep(10 * time.Millisecond)
	return cluster.HAMaster{Node: "pve1", RoundAt: time.Now().Truncate(10 * time.Second)}, nil
}

func (c *movingGuests) Inventory(context.Context) (cluster.Inventory, error) {
	time.Sleep(10 * time.Millisecond)
	row := cluster.Row{Kind: guest.VirtualMachine, Node: "pve1", Lock: "migrate", HAState: cmp.Or(c.state, "migrate")}
	if !time.Now().Before(c.until) {
		row = cluster.Row{Kind: guest.VirtualMachine, Node: "pve2", HAState: "started"}
	}
	var list cluster.Inventory
	for _, vmid := range c.vmids {
		row.VMID = vmid
		list.Rows = append(list.Rows, row)
	}
	return list, nil
}

func (c *movingGuests) Wait(context.Context, string) (cluster.Task, error) {
	return cluster.Task{UPID: haRequest, Outcome: cluster.TaskSucceeded}, nil
}

func (c *movingGuests) Tasks(context.Context, cluster.TaskQuery) ([]cluster.Task, error) {
	return nil, c.tasks
}

// wait waits for the moves of all guests, each in a lane that began at another time.
func (c *movingGuests) wait(t *testing.T, limit time.Duration) error {
	t.Helper()
	j, closed := openJournal(t, t.TempDir())
	defer closed()
	w := New(Options{Cluster: c, Journal: j, TaskTimes: cluster.TaskTimes{Copies: limit}})
	var lanes sync.WaitGroup
	errs := make([]error, len(c.vmids))
	for i, vmid := range c.vmids {
		time.Sleep(17 * time.Millisecond)
		lanes.Go(func() {
			call := cluster.Call{Op: cluster.OpMigrate, Kind: guest.VirtualMachine, Node: "pve1", VMID: vmid, Params: map[string]string{"target": "pve2"}}
			errs[i] = w.waitForMove(t.Context(), call, haRequest, time.Now())
		})
	}
	lanes.Wait()
	return errors.Join(errs...)
}

// TestMovesShareTheirLooks follows a hundred moves for a minute: the state of the HA manager is read as often as for one move, and once for each lane that begins, at most.
func TestMovesShareTheirLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &movingGuests{until: time.Now().Add(time.Minute)}
		for i := range 100 {
			c.vmids = append(c.vmids, 200+i)
		}
		if err := c.wait(t, time.Hour); err != nil {
			t.Fatal(err)
		}
		if got, most := int(c.reads.Load()), 100+32; got > most {
			t.Errorf("got %d readings of the HA manager in a minute, want at most %d", got, most)
		}
	})
}

// TestOverdueMoveWithUnknownTasks says of a move that takes too long whether no task does it, or whether that is unknown.
func TestOverdueMoveWithUnknownTasks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tasks error
		want  string
	}{
		"no_task": {nil, "no task does that"},
		"unknown": {errors.New("no route to host"), "the tasks cannot be read, so one may still move it: list the tasks of pve1: no route to host"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := &movingGuests{vmids: []int{201}, until: time.Now().Add(time.Hour), tasks: test.tasks}
				err := c.wait(t, 5*time.Minute)
				if !errors.Is(err, errMoveUnknown) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want the outcome unknown, and %q", err, test.want)
				}
			})
		})
	}
}

// TestLockOfAMoveThatEnded says so of a lock that is all that is left of a move, whatever became of the guest, and does not wait as long as a migration may take.
func TestLockOfAMoveThatEnded(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"started", "stopped", "error"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := &movingGuests{vmids: []int{201}, until: time.Now().Add(time.Hour), state: state}
				if err := c.wait(t, 5*time.Minute); !errors.Is(err, errMoveUnknown) || !strings.Contains(err.Error(), "and no task of it runs") {
					t.Errorf("got %v, want the outcome unknown, since no task holds the lock", err)
				}
			})
		})
	}
}
