package pvesim

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var twoNodes = Options{
	Nodes: []string{"pve1", "pve2"}, TaskTime: 10 * time.Second,
	Storages: []Storage{{ID: "local-lvm", Type: "lvmthin", Content: "images,rootdir"}, {ID: "san", Type: "lvmthin", Content: "images,rootdir", Shared: true}},
}

const oldNodeMissing = "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist"

func TestMigrationMovesTheConfig(t *testing.T) {
	bubble(t, twoNodes, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "scsi0: san:1\n")
		before := c.sim.Digest(100)
		checkReply(t, "running", c.call("POST", vm100+"/migrate", "target=pve2"), 500, "can't migrate running VM without --online")
		var upid string
		if err := json.Unmarshal(c.ok("POST", vm100+"/migrate", "target=pve2", "online=1").data(t), &upid); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got := c.config(100)["lock"]; got != "migrate" {
			t.Errorf("lock on the way: got %q, want migrate", got)
		}
		checkReply(t, "write on the way", c.call("PUT", vm100+"/config", "cores=2"), 500, "VM is locked (migrate)")
		if got := c.wait(upid); got != "OK" {
			t.Fatalf("migration: got %s, want OK", got)
		}
		checkReply(t, "old node", c.call("GET", vm100+"/config"), 500, oldNodeMissing)
		f := c.ok("GET", "/nodes/pve2/qemu/100/config").fields(t)
		if f["lock"] != "" || f["digest"] != before || !c.sim.Running(100) {
			t.Errorf("new node: got %v running %v, want the same file and it running", f, c.sim.Running(100))
		}
		if body := c.ok("GET", "/cluster/resources", "type=vm").body; !strings.Contains(body, `"node":"pve2"`) {
			t.Errorf("inventory: got %s, want it on pve2", body)
		}
		if n := c.sim.Effects(100, Migrated); n != 1 {
			t.Errorf("migrated: got %d times, want once", n)
		}
	})
}

func TestMigrationRefuses(t *testing.T) {
	bubble(t, twoNodes, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "scsi0: local-lvm:1\n")
		if _, err := c.sim.AddCT(Guest{VMID: 200, Running: true}); err != nil {
			t.Fatal(err)
		}
		if got := c.call("POST", vm100+"/migrate", "target=pve1"); !strings.Contains(got.body, `"target":"target is local node."`) {
			t.Errorf("to itself: got %d %s, want the target refused", got.status, got.body)
		}
		checkReply(t, "unknown node", c.call("POST", vm100+"/migrate", "target=x"), 500, "no such cluster node 'x'")
		if got, want := c.task("POST", vm100+"/migrate", "target=pve2", "online=1"), "migration aborted"; got != want {
			t.Errorf("local disk: got %s, want %s", got, want)
		}
		checkReply(t, "container", c.call("POST", "/nodes/pve1/lxc/200/migrate", "target=pve2"), 500, "can't migrate running container without --online or --restart")
		if got := c.task("POST", "/nodes/pve1/lxc/200/migrate", "target=pve2", "restart=1"); got != "OK" || !c.sim.Running(200) {
			t.Errorf("container with restart: got %s running %v, want OK and running", got, c.sim.Running(200))
		}
		for op, want := range map[Op]int{Stopped: 1, Started: 1, Migrated: 1} {
			if n := c.sim.Effects(200, op); n != want {
				t.Errorf("container %s: got %d, want %d", op, n, want)
			}
		}
		f := c.ok("GET", vm100+"/migrate").fields(t)
		if f["allowed_nodes"] != `["pve2"]` || !strings.Contains(f["local_disks"], "local-lvm:vm-100-disk-0") {
			t.Errorf("preconditions: got %v, want pve2 and the local disk", f)
		}
	})
}

func TestKilledMigrationLeavesTheLock(t *testing.T) {
	for name, tt := range map[string]struct {
		fault Fault
		exit  string
		lock  string
	}{
		"killed": {Fault{Kind: TaskKilled, Phase: 1}, "unexpected status", "migrate"},
		"fails":  {Fault{Kind: TaskFails, Phase: 1, Text: "no route"}, "migration problems", ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, twoNodes, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "")
				tt.fault.Path = "/migrate$"
				inject(t, c.sim, tt.fault)
				if got := c.task("POST", vm100+"/migrate", "target=pve2"); got != tt.exit {
					t.Errorf("exit: got %s, want %s", got, tt.exit)
				}
				if got := c.config(100)["lock"]; got != tt.lock {
					t.Errorf("lock on the old node: got %q, want %q", got, tt.lock)
				}
			})
		})
	}
}

func TestHAMigratesAfterDelay(t *testing.T) {
	bubble(t, twoNodes, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "scsi0: san:1\n")
		c.ok("POST", "/cluster/ha/resources", "sid=vm:100")
		if got := c.task("POST", vm100+"/migrate", "target=pve2", "online=1"); got != "OK" {
			t.Fatalf("wish: got %s, want OK", got)
		}
		if tasks := c.sim.Tasks(); tasks[len(tasks)-1].Type != "hamigrate" {
			t.Errorf("task: got %s, want hamigrate", tasks[len(tasks)-1].Type)
		}
		c.ok("GET", vm100+"/config")
		time.Sleep(time.Minute)
		synctest.Wait()
		checkReply(t, "old node", c.call("GET", vm100+"/config"), 500, oldNodeMissing)
	})
}

func TestHAMovesAResourceOnRequest(t *testing.T) {
	bubble(t, twoNodes, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "scsi0: san:1\n")
		const path = "/cluster/ha/resources/vm:100/migrate"
		checkReply(t, "not managed", c.call("POST", path, "node=pve2"), 500, "resource 'vm:100' is not HA managed")
		c.ok("POST", "/cluster/ha/resources", "sid=vm:100")
		c.ok("POST", path, "node=pve9") // the master drops it
		c.ok("POST", path, "node=pve2")
		c.ok("GET", vm100+"/config")
		time.Sleep(time.Minute)
		synctest.Wait()
		checkReply(t, "old node", c.call("GET", vm100+"/config"), 500, oldNodeMissing)
	})
}

func TestFencedNodeLosesItsManagedGuests(t *testing.T) {
	bubble(t, twoNodes, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "scsi0: san:1\n")
		addRunningVM(t, c.sim, 101, "scsi0: san:1\n")
		c.ok("POST", "/cluster/ha/resources", "sid=vm:100", "state=started")
		addVM(t, c.sim, 102, "scsi0: san:1\n")
		c.ok("POST", "/cluster/ha/resources", "sid=vm:102", "state=ignored")
		c.sim.StopNode("pve1")
		time.Sleep(time.Minute)
		checkReply(t, "before the fence", c.call("GET", "/nodes/pve2/qemu/100/config"), 500,
			"Configuration file 'nodes/pve2/qemu-server/100.conf' does not exist")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		c.ok("GET", "/nodes/pve2/qemu/100/config")
		if !c.sim.Running(100) {
			t.Error("recovered guest: got it stopped, want it started on the other node")
		}
		checkReply(t, "guest without HA", c.call("GET", "/nodes/pve1/qemu/101/config"), 595, "No route to host")
		checkReply(t, "ignored guest", c.call("GET", "/nodes/pve1/qemu/102/config"), 595, "No route to host")
	})
}

// TestUptime reads the uptime of guests and nodes. A guest's process has one of its own: a restart inside a virtual machine keeps it, and a live migration
// begins another one.
func TestUptime(t *testing.T) {
	bubble(t, twoNodes, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "scsi0: san:1\n")
		addVM(t, c.sim, 101, "")
		uptime := func(path string) int {
			var status struct{ Uptime int }
			if err := json.Unmarshal(c.ok("GET", path+"/status").data(t), &status); err != nil {
				t.Fatal(err)
			}
			return status.Uptime
		}
		guest := func() int { return uptimeOf(t, c, vm100) }
		time.Sleep(time.Hour)
		before := uptime("/nodes/pve1")
		if got := uptimeOf(t, c, "/nodes/pve1/qemu/101"); guest() != 3600 || got != 0 || before != 100*60 {
			t.Errorf("got uptimes %d, %d and %d, want 3600, 0 of the stopped guest, and 6000 of the node", guest(), got, before)
		}
		if err := c.sim.RestartInside(100); err != nil {
			t.Fatal(err)
		}
		if got := guest(); got != 3600 {
			t.Errorf("got %d after a restart inside, want 3600", got)
		}
		for _, status := range []string{"suspend", "resume"} {
			if got := c.task("POST", vm100+"/status/"+status); got != "OK" {
				t.Fatalf("%s: got %s", status, got)
			}
		}
		if got := guest(); got < 3600 {
			t.Errorf("got %d after a pause, want it to go on", got)
		}
		if got := c.task("POST", vm100+"/migrate", "target=pve2", "online=1"); got != "OK" {
			t.Fatalf("migrate: got %s", got)
		}
		if got := uptimeOf(t, c, "/nodes/pve2/qemu/100"); got > 60 {
			t.Errorf("got %d after a live migration, want that of the new process", got)
		}
		c.sim.RebootNode("pve1", time.Minute)
		time.Sleep(2 * time.Minute)
		if booted, other := uptime("/nodes/pve1"), uptime("/nodes/pve2"); booted != 60 || other <= before {
			t.Errorf("got node uptimes %d and %d after the boot of one node, want 60 and more than %d", booted, other, before)
		}
	})
}

// uptimeOf returns what the status of a guest shows.
func uptimeOf(t *testing.T, c *client, path string) int {
	t.Helper()
	var status struct{ Uptime int }
	if err := json.Unmarshal(c.ok("GET", path+"/status/current").data(t), &status); err != nil {
		t.Fatal(err)
	}
	return status.Uptime
}

// TestRebootLosesWaitingCalls boots a node while calls wait in it. None of them acts.
func TestRebootLosesWaitingCalls(t *testing.T) {
	for name, fault := range map[string]Fault{
		"slow": {Kind: SlowCall, Delay: 5 * time.Minute}, "held": {Kind: HoldBefore}, "late": {Kind: Latency, Delay: 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, twoNodes, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "")
				fault.Method, fault.Path = "POST", "/status/start$"
				if err := c.sim.Inject(fault); err != nil {
					t.Fatal(err)
				}
				done := make(chan struct{})
				var got answer
				go func() { defer close(done); got = c.call("POST", vm100+"/status/start") }()
				time.Sleep(time.Minute)
				c.sim.RebootNode("pve1", time.Minute)
				time.Sleep(10 * time.Minute)
				c.sim.Release()
				<-done
				synctest.Wait()
				if got := c.sim.Effects(100, Started); got != 0 {
					t.Errorf("got %d starts, want none", got)
				}
				if name == "slow" { // it had reached the node, and the proxy gave up on it before the boot
					checkReply(t, "a call in the node", got, 596, "Connection timed out")
				}
			})
		})
	}
}

// TestCallInABootingNodeIsUnknown boots a node while it works on a call, whose connection ends: the proxy says 596 and not 595, since it had sent the call.
func TestCallInABootingNodeIsUnknown(t *testing.T) {
	bubble(t, twoNodes, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		if err := c.sim.Inject(Fault{Kind: SlowCall, Delay: 10 * time.Second, Method: "POST", Path: "/status/start$"}); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(5*time.Second, func() { c.sim.RebootNode("pve1", time.Minute) })
		checkReply(t, "a call in the node", c.call("POST", vm100+"/status/start"), 596, "Connection reset by peer")
		if got := c.sim.Effects(100, Started); got != 0 {
			t.Errorf("got %d starts, want none", got)
		}
	})
}

func TestRebootOfANode(t *testing.T) {
	bubble(t, twoNodes, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "onboot: 1\n")
		addRunningVM(t, c.sim, 101, "")
		addVM(t, c.sim, 102, "scsi0: san:1\n")
		var upid string
		if err := json.Unmarshal(c.ok("POST", "/nodes/pve1/qemu/102/clone", "newid=103", "full=1").data(t), &upid); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		c.sim.RebootNode("pve1", time.Minute)
		checkReply(t, "while down", c.call("GET", vm100+"/config"), 595, "No route to host")
		time.Sleep(time.Minute + time.Second)
		if list := c.ok("GET", "/nodes").body; strings.Contains(list, `"status":"offline"`) {
			t.Errorf("nodes: got %s, want the booted one among the members", list)
		}
		checkReply(t, "while its proxy starts", c.call("POST", vm100+"/status/stop"), 595, "Connection refused")
		time.Sleep(time.Second)
		c.ok("GET", vm100+"/config")
		time.Sleep(time.Minute)
		synctest.Wait()
		if !c.sim.Running(100) || c.sim.Running(101) {
			t.Errorf("after the boot: got running %v and %v, want the one with onboot alone", c.sim.Running(100), c.sim.Running(101))
		}
		if got := c.wait(upid); got != "unexpected status" {
			t.Errorf("task that was under way: got %s, want unexpected status", got)
		}
		if got := c.sim.Value(103, "lock"); got != "clone" {
			t.Errorf("half-made clone: got lock %q, want clone", got)
		}
		if v := c.sim.Violations(); len(v) > 0 {
			t.Errorf("violations: got %v, want none", v)
		}
	})
}
