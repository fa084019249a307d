package pvesim

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func inject(t *testing.T, s *Sim, f Fault) {
	t.Helper()
	if err := s.Inject(f); err != nil {
		t.Fatal(err)
	}
}

func TestFaultsOfACall(t *testing.T) {
	tests := map[string]struct {
		fault  Fault
		status int // 0: no reply
		reason string
		acts   int // effects on the config
	}{
		"drop_before":   {Fault{Kind: DropBefore}, 0, errConnectionLost.Error(), 0},
		"drop_after":    {Fault{Kind: DropAfter}, 0, errConnectionLost.Error(), 1},
		"proxy_595":     {Fault{Kind: ProxyStatus, Status: 595}, 595, "Connection refused", 0},
		"proxy_596_act": {Fault{Kind: ProxyStatus, Status: 596, AfterActing: true}, 596, "Connection timed out", 1},
		"error_text":    {Fault{Kind: ErrorText, Text: "cluster not ready - no quorum?"}, 500, "cluster not ready - no quorum?", 0},
		"truncated":     {Fault{Kind: TruncatedBody}, 200, "unexpected EOF", 1},
		"invalid_json":  {Fault{Kind: InvalidJSON}, 200, "OK", 1},
		"page":          {Fault{Kind: Page}, 200, "OK", 0},
		"unauthorized":  {Fault{Kind: Unauthorized}, 401, "No ticket", 0},
		"foreign_edit":  {Fault{Kind: EditBefore, VMID: 100, Key: "lock", Value: "backup"}, 500, "VM is locked (backup)", 0},
		"other_method":  {Fault{Kind: DropBefore, Method: "DELETE"}, 200, "OK", 1},
		"other_path":    {Fault{Kind: DropBefore, Path: "/lxc/"}, 200, "OK", 1},
		"other_guest":   {Fault{Kind: DropBefore, VMID: 101}, 200, "OK", 1},
		"second_call":   {Fault{Kind: DropBefore, Nth: 2}, 200, "OK", 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "")
				inject(t, c.sim, tt.fault)
				got := c.call("PUT", vm100+"/config", "cores=2")
				if got.status != tt.status || got.reason != tt.reason {
					t.Errorf("reply: got %d %s, want %d %s", got.status, got.reason, tt.status, tt.reason)
				}
				if n := c.sim.Effects(100, ConfigWritten); n != tt.acts {
					t.Errorf("config written: got %d times, want %d", n, tt.acts)
				}
				c.sim.ClearFaults()
				if err := c.sim.Edit(100, "lock", ""); err != nil {
					t.Fatal(err)
				}
				c.ok("PUT", vm100+"/config", "cores=3")
			})
		})
	}
}

// A fault of one host:port leaves calls alone that were sent to another endpoint of the cluster.
func TestFaultsOfOneEndpoint(t *testing.T) {
	sim := New(Options{})
	t.Cleanup(sim.Close)
	inject(t, sim, Fault{Kind: Page, Host: "pve1.test:8006", Times: -1})
	for host, want := range map[string]string{"pve1.test:8006": "<", "pve2.test:8006": "{"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+host+"/api2/json/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "PVEAPIToken="+sim.Token("gitops@pve!agent"))
		res, err := sim.Transport().RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err != nil || !strings.HasPrefix(string(body), want) {
			t.Errorf("%s: got %s, %v, want it to begin with %s", host, body, err, want)
		}
	}
}

func TestFaultTimes(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		inject(t, c.sim, Fault{Kind: ErrorText, Text: "x", Path: "^/version$", Nth: 2, Times: 2})
		var got []int
		for range 5 {
			got = append(got, c.call("GET", "/version").status)
		}
		for i, want := range []int{200, 500, 500, 200, 200} {
			if got[i] != want {
				t.Fatalf("five calls: got %v, want the second and third to fail", got)
			}
		}
		inject(t, c.sim, Fault{Kind: ErrorText, Text: "x", Writes: true})
		if read, write := c.call("GET", "/version").status, c.call("POST", "/pools", "poolid", "a").status; read != 200 || write != 500 {
			t.Errorf("a fault of writes: got %d from a read and %d from a write, want 200 and 500", read, write)
		}
		if err := c.sim.Inject(Fault{Kind: "nonsense"}); err == nil {
			t.Error("unknown kind: got no error, want one")
		}
		if err := c.sim.Inject(Fault{Kind: Latency, Path: "(("}); err == nil {
			t.Error("bad pattern: got no error, want one")
		}
	})
}

func TestFaultsByChance(t *testing.T) {
	run := func(seed uint64) (hits string) {
		bubble(t, Options{Seed: seed}, func(t *testing.T, c *client) {
			inject(t, c.sim, Fault{Kind: ErrorText, Text: "x", Chance: 0.3, Times: -1})
			for range 200 {
				if c.call("GET", "/version").status == 500 {
					hits += "x"
				} else {
					hits += "."
				}
			}
		})
		return hits
	}
	first := run(1)
	if n := strings.Count(first, "x"); n < 30 || n > 90 {
		t.Errorf("200 calls with a chance of 0.3: got %d hits, want some 60", n)
	}
	if again, other := run(1), run(2); again != first || other == first {
		t.Errorf("hits: got same seed equal %v and other seed equal %v, want true and false", again == first, other == first)
	}
}

func TestLatencyTakesVirtualTime(t *testing.T) {
	bubble(t, Options{Latency: time.Second}, func(t *testing.T, c *client) {
		inject(t, c.sim, Fault{Kind: Latency, Delay: 30 * time.Second})
		begun := time.Now()
		c.ok("GET", "/version")
		if got := time.Since(begun); got != 31*time.Second {
			t.Errorf("time of the call: got %s, want 31s", got)
		}
	})
}

func TestLatenciesOfRoutes(t *testing.T) {
	bubble(t, Options{Latency: time.Second, Latencies: RecordedLatencies()}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		for path, want := range map[string]time.Duration{
			"/cluster/resources": 6500 * time.Microsecond, vm100 + "/pending": 1100 * time.Microsecond, vm100 + "/status/current": time.Second,
		} {
			begun := time.Now()
			c.ok("GET", path)
			if got := time.Since(begun); got != want {
				t.Errorf("time of %s: got %s, want %s", path, got, want)
			}
		}
	})
}

func TestFaultsOfATask(t *testing.T) {
	tests := map[string]struct {
		fault Fault
		exit  string
		left  string // config file afterwards
	}{
		"fails_early":  {Fault{Kind: TaskFails, Text: "no space left", Phase: 0}, "unable to create VM 100 - no space left", ""},
		"fails_late":   {Fault{Kind: TaskFails, Text: "no space left", Phase: 1}, "unable to create VM 100 - no space left", ""},
		"killed_early": {Fault{Kind: TaskKilled, Phase: 0}, "unexpected status", "lock: create\n"},
		"killed_late":  {Fault{Kind: TaskKilled, Phase: 1}, "unexpected status", "lock: create\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, c *client) {
				tt.fault.VMID = 100
				inject(t, c.sim, tt.fault)
				if got := c.task("POST", "/nodes/pve1/qemu", "vmid=100", "scsi0=local-lvm:1"); got != tt.exit {
					t.Errorf("exit: got %s, want %s", got, tt.exit)
				}
				if got := c.sim.Config(100); got != tt.left {
					t.Errorf("config left behind: got %q, want %q", got, tt.left)
				}
				if n := len(c.sim.Volumes()); tt.left == "" && n != 0 {
					t.Errorf("volumes left behind: got %d, want 0", n)
				}
				if v := c.sim.Violations(); len(v) > 0 {
					t.Errorf("violations: got %v, want none", v)
				}
			})
		})
	}
}

func TestTaskThatNeverEndsHoldsTheGuest(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		inject(t, c.sim, Fault{Kind: TaskNeverEnds, Path: "/status/start$"})
		upid := strings.Trim(string(c.ok("POST", vm100+"/status/start").data(t)), `"`)
		time.Sleep(time.Hour)
		if got := c.ok("GET", "/nodes/pve1/tasks/"+upid+"/status").fields(t)["status"]; got != "running" {
			t.Errorf("after an hour: got %s, want running", got)
		}
		checkReply(t, "write meanwhile", c.call("PUT", vm100+"/config", "cores=2"), 500, "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout")
		c.ok("DELETE", "/nodes/pve1/tasks/"+upid)
		if got := c.wait(upid); got != "received interrupt" {
			t.Errorf("aborted: got %s, want received interrupt", got)
		}
		if c.sim.Running(100) {
			t.Error("after the abort: got the guest running, want it stopped")
		}
	})
}

func TestLostWorkerLeavesPartialGuest(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		inject(t, c.sim, Fault{Kind: LostWorker, VMID: 100})
		checkReply(t, "create", c.call("POST", "/nodes/pve1/qemu", "vmid=100", "name=x"), 500, "got no worker upid - start worker failed")
		checkReply(t, "again", c.call("POST", "/nodes/pve1/qemu", "vmid=100"), 500, "unable to create VM 100 - VM 100 already exists on node 'pve1'")
		if got := c.task("DELETE", vm100); got != "VM is locked (create)" {
			t.Errorf("destroy: got %s, want it locked", got)
		}
	})
}

func TestLostWorkerOfEveryTask(t *testing.T) {
	for _, call := range []string{
		"POST " + vm100 + "/status/start", "POST " + vm100 + "/config cores=2", "PUT " + vm100 + "/resize disk=scsi0 size=+1G", "DELETE " + vm100,
		"POST " + vm100 + "/snapshot snapname=s1", "POST " + vm100 + "/clone newid=101", "POST /nodes/pve1/vzdump vmid=100",
		"POST /nodes/pve1/lxc/200/status/start", "POST /nodes/pve1/lxc/200/template", "POST " + vm100 + "/migrate target=pve2",
	} {
		t.Run(strings.NewReplacer("/nodes/pve1/", "", "/", ".", " ", ".").Replace(call), func(t *testing.T) {
			bubble(t, Options{Nodes: []string{"pve1", "pve2"}}, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "scsi0: local-lvm:1\n")
				if _, err := c.sim.AddCT(Guest{VMID: 200}); err != nil {
					t.Fatal(err)
				}
				before := configTexts(c.sim)
				inject(t, c.sim, Fault{Kind: LostWorker})
				f := strings.Fields(call)
				checkReply(t, "call", c.call(f[0], f[1], f[2:]...), 500, "got no worker upid - start worker failed")
				time.Sleep(time.Minute)
				if diff := cmp.Diff(before, configTexts(c.sim)); diff != "" || len(c.sim.Tasks()) != 0 {
					t.Errorf("got %d tasks and files (-before +after):\n%s, want nothing done", len(c.sim.Tasks()), diff)
				}
			})
		})
	}
}

func TestHolds(t *testing.T) {
	for stage, acted := range map[FaultKind]int{HoldBefore: 0, HoldAfter: 1} {
		t.Run(string(stage), func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "")
				inject(t, c.sim, Fault{Kind: stage, Method: http.MethodPut})
				replied := make(chan answer)
				go func() { replied <- c.call("PUT", vm100+"/config", "cores=2") }()
				if err := c.sim.WaitHeld(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				if got := c.sim.Effects(100, ConfigWritten); got != acted {
					t.Errorf("config written while held: got %d, want %d", got, acted)
				}
				if held := c.sim.Held(); len(held) != 1 || held[0].Stage != stage || held[0].Path != vm100+"/config" {
					t.Errorf("held: got %v, want the one call", held)
				}
				c.sim.Release()
				if got := <-replied; got.status != 200 {
					t.Errorf("released: got %d %s, want 200", got.status, got.reason)
				}
				if got := c.sim.Effects(100, ConfigWritten); got != 1 {
					t.Errorf("config written: got %d, want 1", got)
				}
			})
		})
	}
}

// TestCloseEndsEverything checks that Close ends tasks and held calls. Otherwise the bubble would report a deadlock or leaked goroutines.
func TestCloseEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, Options{TaskTime: time.Hour})
		addVM(t, c.sim, 100, "")
		inject(t, c.sim, Fault{Kind: HoldBefore, Method: http.MethodPut})
		done := make(chan answer)
		go func() { done <- c.call("PUT", vm100+"/config", "cores=2") }()
		c.ok("POST", vm100+"/status/start")
		synctest.Wait()
		c.sim.Close()
		if got := <-done; got.status != 0 {
			t.Errorf("held call: got %d %s, want no reply", got.status, got.reason)
		}
		if tasks := c.sim.Tasks(); tasks[0].Exit != "unexpected status" {
			t.Errorf("task: got exit %q, want unexpected status", tasks[0].Exit)
		}
		if c.sim.Running(100) {
			t.Error("after Close: got the guest running, want it stopped")
		}
		if got := c.call("GET", "/version"); got.status != 0 {
			t.Errorf("call after Close: got %d %s, want no reply", got.status, got.reason)
		}
		c.sim.Close() // a second Close does nothing
	})
}
