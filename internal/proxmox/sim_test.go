package proxmox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"

	"github.com/google/go-cmp/cmp"
)

// simToken is a token with the privileges of an agent.
const simToken = "gitops@pve!agent"

// simulate runs test with a client of a simulated cluster, in the virtual time of synctest.
func simulate(t *testing.T, test func(t *testing.T, sim *pvesim.Sim, client *Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sim := pvesim.New(pvesim.Options{TaskTime: time.Second})
		defer sim.Close()
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(sim.Token(simToken)), 0o600); err != nil {
			t.Fatal(err)
		}
		client, err := New(Options{Endpoints: []string{"https://pve1"}, TokenFile: path, Transport: sim.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		test(t, sim, client)
	})
}

var createCall = cluster.Call{
	Op: cluster.OpCreate, Kind: guest.VirtualMachine, Node: "pve1", VMID: 101, Params: map[string]string{"name": "web", "scsi0": "local-lvm:1"},
}

// TestCreateUnderFaults compares the error of a create with the guests and tasks of the cluster.
func TestCreateUnderFaults(t *testing.T) {
	unknown := cluster.ErrOutcomeUnknown
	tests := map[string]struct {
		fault   pvesim.Fault
		want    error
		created int
		tasks   int // in the node's list, which decides an unknown outcome
	}{
		"drop_before":         {pvesim.Fault{Kind: pvesim.DropBefore}, unknown, 0, 0},
		"drop_after":          {pvesim.Fault{Kind: pvesim.DropAfter}, unknown, 1, 1},
		"connection_refused":  {pvesim.Fault{Kind: pvesim.ProxyStatus, Status: 595}, cluster.ErrNotReady, 0, 0},
		"timeout_but_created": {pvesim.Fault{Kind: pvesim.ProxyStatus, Status: 596, AfterActing: true}, unknown, 1, 1},
		"truncated_body":      {pvesim.Fault{Kind: pvesim.TruncatedBody}, unknown, 1, 1},
		"invalid_json":        {pvesim.Fault{Kind: pvesim.InvalidJSON}, unknown, 1, 1},
		"refused":             {pvesim.Fault{Kind: pvesim.ErrorText, Text: "storage 'local-lvm' is not online"}, nil, 0, 0},
		"locked":              {pvesim.Fault{Kind: pvesim.ErrorText, Text: "can't lock file '/var/lock/qemu-server/lock-101.conf' - got timeout"}, cluster.ErrLocked, 0, 0},
		"no_quorum":           {pvesim.Fault{Kind: pvesim.ErrorText, Text: "cluster not ready - no quorum?"}, cluster.ErrNotReady, 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T, sim *pvesim.Sim, client *Client) {
				test.fault.Method, test.fault.Path = "POST", "^/nodes/pve1/qemu$"
				if err := sim.Inject(test.fault); err != nil {
					t.Fatal(err)
				}
				upid, err := client.Do(t.Context(), createCall, nil)
				var wanted []string
				if test.want != nil {
					wanted = []string{test.want.Error()}
				}
				if diff := cmp.Diff(wanted, meanings(err)); err == nil || upid != "" || diff != "" {
					t.Errorf("got %q, error %v: meaning (-want +got)\n%s", upid, err, diff)
				}
				time.Sleep(10 * time.Second)
				if got := sim.Effects(101, pvesim.Created); got != test.created {
					t.Errorf("got %d guests created, want %d", got, test.created)
				}
				tasks, err := client.Tasks(t.Context(), cluster.TaskQuery{Node: "pve1", VMID: 101, Types: []string{"qmcreate"}})
				if err != nil || len(tasks) != test.tasks {
					t.Errorf("got tasks %v, error %v, want %d", tasks, err, test.tasks)
				}
				if exists, err := client.Exists(t.Context(), 101); err != nil || exists != (test.created == 1) {
					t.Errorf("got exists %v, error %v, want %v", exists, err, test.created == 1)
				}
			})
		})
	}
}

// A lost worker leaves a partly created guest, which Observe shows. A second create does not complete the guest.
func TestLostWorkerLeavesALockedGuest(t *testing.T) {
	simulate(t, func(t *testing.T, sim *pvesim.Sim, client *Client) {
		if err := sim.Inject(pvesim.Fault{Kind: pvesim.LostWorker, Method: "POST", Path: "^/nodes/pve1/qemu$"}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Do(t.Context(), createCall, nil); !errors.Is(err, cluster.ErrOutcomeUnknown) {
			t.Errorf("got error %v, want ErrOutcomeUnknown", err)
		}
		got, err := client.Observe(t.Context(), cluster.Row{Kind: guest.VirtualMachine, VMID: 101, Node: "pve1"})
		if err != nil || got.Lock != "create" {
			t.Errorf("got lock %q, error %v, want create", got.Lock, err)
		}
		_, err = client.Do(t.Context(), createCall, nil)
		if !errors.Is(err, cluster.ErrConflict) || !strings.Contains(err.Error(), "already exists") {
			t.Errorf("got error %v, want ErrConflict with Proxmox's error about a guest that already exists", err)
		}
	})
}

func TestTasksUnderFaults(t *testing.T) {
	tests := map[string]struct {
		fault      pvesim.Fault
		exit, tail string // exit is the end of the exit status: the exit status of a create begins with the action
	}{
		"fails":  {pvesim.Fault{Kind: pvesim.TaskFails, Text: "no space left on device"}, "no space left on device", "TASK ERROR: "},
		"killed": {pvesim.Fault{Kind: pvesim.TaskKilled}, "unexpected status", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T, sim *pvesim.Sim, client *Client) {
				if err := sim.Inject(test.fault); err != nil {
					t.Fatal(err)
				}
				upid, err := client.Do(t.Context(), createCall, nil)
				if err != nil {
					t.Fatal(err)
				}
				task, err := client.Wait(t.Context(), upid)
				if err != nil || task.OK() || !strings.HasSuffix(task.Exit, test.exit) || !strings.Contains(task.LogTail, test.tail) {
					t.Errorf("got task %+v, error %v, want exit status %q and the end of the log", task, err, test.exit)
				}
			})
		})
	}
}

// An interrupted read never returns a guest with fewer keys.
func TestObserveUnderFaults(t *testing.T) {
	for _, kind := range []pvesim.FaultKind{pvesim.DropBefore, pvesim.DropAfter, pvesim.TruncatedBody, pvesim.InvalidJSON, pvesim.ErrorText} {
		t.Run(string(kind), func(t *testing.T) {
			simulate(t, func(t *testing.T, sim *pvesim.Sim, client *Client) {
				vmid, err := sim.AddVM(pvesim.Guest{VMID: 100})
				if err != nil {
					t.Fatal(err)
				}
				if err := sim.Inject(pvesim.Fault{Kind: kind, Path: "/pending$", Text: "internal error"}); err != nil {
					t.Fatal(err)
				}
				row := cluster.Row{Kind: guest.VirtualMachine, VMID: vmid, Node: "pve1"}
				if got, err := client.Observe(t.Context(), row); err == nil || got.Keys != nil || errors.Is(err, cluster.ErrNotExist) {
					t.Errorf("got %v, error %v, want an error other than ErrNotExist", got.Keys, err)
				}
				if got, err := client.Observe(t.Context(), row); err != nil || got.Digest != sim.Digest(vmid) {
					t.Errorf("got digest %q, error %v, want %q after the fault", got.Digest, err, sim.Digest(vmid))
				}
			})
		})
	}
}

func TestRefusedWritesHaveAMeaning(t *testing.T) {
	simulate(t, func(t *testing.T, sim *pvesim.Sim, client *Client) {
		vm, err := sim.AddVM(pvesim.Guest{VMID: 100})
		if err != nil {
			t.Fatal(err)
		}
		ct, err := sim.AddCT(pvesim.Guest{VMID: 200})
		if err != nil {
			t.Fatal(err)
		}
		config := func(kind guest.Kind, vmid int, digest string) error {
			_, err := client.Do(t.Context(), cluster.Call{
				Op: cluster.OpConfig, Kind: kind, Node: "pve1", VMID: vmid, Digest: digest, Params: map[string]string{"onboot": "1"},
			}, nil)
			return err
		}
		old := strings.Repeat("0", 40)
		if err := config(guest.VirtualMachine, vm, old); !errors.Is(err, cluster.ErrConflict) {
			t.Errorf("got error %v, want ErrConflict", err)
		}
		if err := config(guest.Container, ct, old); !errors.Is(err, cluster.ErrConflict) {
			t.Errorf("got error %v, want ErrConflict", err)
		}
		if err := config(guest.Container, vm, ""); !errors.Is(err, cluster.ErrNotExist) {
			t.Errorf("got error %v, want ErrNotExist: there is no container of that vmid", err)
		}
		for kind, vmid := range map[guest.Kind]int{guest.VirtualMachine: vm, guest.Container: ct} {
			if err := sim.Edit(vmid, "lock", "backup"); err != nil {
				t.Fatal(err)
			}
			if err := config(kind, vmid, ""); !errors.Is(err, cluster.ErrLocked) {
				t.Errorf("%s: got error %v, want ErrLocked", kind, err)
			}
		}
		sim.SetPrivileges(simToken, []pvesim.ACL{{Path: "/", Role: "PVEAuditor"}})
		if err := config(guest.VirtualMachine, vm, ""); !errors.Is(err, cluster.ErrDenied) {
			t.Errorf("got error %v, want ErrDenied", err)
		}
		if got := sim.Effects(vm, pvesim.ConfigWritten) + sim.Effects(ct, pvesim.ConfigWritten); got != 0 {
			t.Errorf("got %d writes, want none", got)
		}
	})
}

func TestPoolCommentOnSimulator(t *testing.T) {
	simulate(t, func(t *testing.T, sim *pvesim.Sim, client *Client) {
		if comment, found, err := client.PoolComment(t.Context(), "gitops-agent"); err != nil || found {
			t.Errorf("got %q, found %v, error %v, want no pool", comment, found, err)
		}
		for _, want := range []string{"seq=1 main@sha1:0a", "seq=2 main@sha1:0b"} {
			if err := client.SetPoolComment(t.Context(), "gitops-agent", want); err != nil {
				t.Fatal(err)
			}
			if got, found, err := client.PoolComment(t.Context(), "gitops-agent"); err != nil || !found || got != want {
				t.Errorf("got %q, found %v, error %v, want %q", got, found, err, want)
			}
			if got, _ := sim.PoolComment("gitops-agent"); got != want {
				t.Errorf("got %q in the simulator, want %q", got, want)
			}
		}
	})
}

func TestPermissionsOnSimulator(t *testing.T) {
	simulate(t, func(t *testing.T, sim *pvesim.Sim, client *Client) {
		sim.SetPrivileges(simToken, []pvesim.ACL{{Path: "/", Role: "PVEAuditor"}})
		permissions, err := client.Permissions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !permissions.Allow("/vms/100", "VM.Audit") || permissions.Allow("/vms/100", "VM.Allocate") {
			t.Errorf("got %v, want VM.Audit without VM.Allocate on /vms/100", permissions)
		}
	})
}
