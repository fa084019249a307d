package pvesim

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// haEntry is the entry of the guest 100.
const haEntry = "/cluster/ha/resources/vm:100"

// wantHA waits, in steps of a second, until the manager shows a state of the guest 100 that is on a node, and checks that it takes at least and at most the given time.
func (c *client) wantHA(t *testing.T, state, node string, least, most time.Duration) {
	t.Helper()
	began := time.Now()
	for {
		synctest.Wait()
		body := c.ok("GET", "/cluster/resources", "type=vm").body
		if strings.Contains(body, `"hastate":"`+state+`"`) && strings.Contains(body, `"node":"`+node+`"`) {
			break
		}
		if time.Since(began) > most {
			t.Fatalf("state %s on %s: not after %s, got %s", state, node, most, body)
		}
		time.Sleep(time.Second)
	}
	if took := time.Since(began); took < least {
		t.Errorf("state %s on %s: got it after %s, want at least %s", state, node, took, least)
	}
}

// TestHAGivesUp lets every start fail: the manager tries twice on each node, and leaves the state only for disabled. The times are half to twice those of recording 72.
func TestHAGivesUp(t *testing.T) {
	options := twoNodes
	options.TaskTime = time.Second
	bubble(t, options, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "net0: virtio,bridge=vmbr9\n")
		c.ok("POST", "/cluster/ha/resources", "sid=vm:100")
		c.wantHA(t, haStarted, "pve1", 0, 0)
		c.wantHA(t, haMigrating, "pve1", 13*time.Second, 54*time.Second)
		c.wantHA(t, haError, "pve2", 20*time.Second, 80*time.Second)
		if got := c.sim.HAState(100); got != haError {
			t.Errorf("got the state %s, want error", got)
		}
		const refused = "service 'vm:100' in error state, must be disabled and fixed first"
		for _, wish := range []string{"state=started", "state=stopped", "state=ignored", "comment=x"} {
			checkReply(t, wish, c.call("PUT", haEntry, wish), 500, refused)
		}
		checkReply(t, "move", c.call("POST", haEntry+"/migrate", "node=pve1"), 500, refused)
		const vm = "/nodes/pve2/qemu/100"
		for path, want := range map[string]string{
			vm + "/status/start":        "command 'ha-manager set vm:100 --state started' failed: exit code 255",
			vm + "/migrate?target=pve1": "command 'ha-manager migrate vm:100 pve1' failed: exit code 255",
		} {
			path, params, _ := strings.Cut(path, "?")
			if got := c.task("POST", path, strings.Fields(params)...); got != want {
				t.Errorf("%s: got %s, want %s", path, got, want)
			}
		}
		if err := c.sim.Edit(100, "net0", "virtio,bridge=vmbr0"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		c.wantHA(t, haError, "pve2", 0, 0)
		c.ok("PUT", haEntry, "state=disabled")
		c.wantHA(t, haStopped, "pve2", 0, 10*time.Second)
		c.ok("PUT", haEntry, "state=started")
		c.wantHA(t, haStarted, "pve2", 0, 10*time.Second)
		time.Sleep(20 * time.Second)
		if synctest.Wait(); !c.sim.Running(100) {
			t.Error("after the repair: got it stopped, want it running")
		}
	})
}

// TestHAStops shuts down a guest that ignores it, and starts again a guest whose process was killed.
func TestHAStops(t *testing.T) {
	options := twoNodes
	options.TaskTime = time.Second
	bubble(t, options, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "scsi0: san:1\n")
		c.ok("POST", "/cluster/ha/resources", "sid=vm:100")
		time.Sleep(time.Minute)
		if err := c.sim.SetRunning(100, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if synctest.Wait(); !c.sim.Running(100) {
			t.Fatal("killed: got it stopped, want it started again")
		}
		if err := c.sim.IgnoreShutdown(100); err != nil {
			t.Fatal(err)
		}
		c.ok("PUT", haEntry, "state=stopped")
		c.wantHA(t, haRequestStop, "pve1", 0, 12*time.Second)
		c.wantHA(t, haStopped, "pve1", 35*time.Second, 140*time.Second)
		if c.sim.Running(100) {
			t.Error("stopped: got it running")
		}
	})
}

// TestHAMovesForRulesAndMaintenance moves a guest by a rule about nodes, back to the better node after a person's request, and away from a node in maintenance and back.
func TestHAMovesForRulesAndMaintenance(t *testing.T) {
	options := twoNodes
	options.TaskTime = 3 * time.Second
	bubble(t, options, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "scsi0: san:1\n")
		addRunningVM(t, c.sim, 101, "scsi0: san:1\n")
		c.ok("POST", "/cluster/ha/resources", "sid=vm:100")
		time.Sleep(time.Minute)
		c.ok("POST", "/cluster/ha/rules", "rule=home", "type=node-affinity", "resources=vm:100", "nodes=pve2:2,pve1")
		c.wantHA(t, haMigrating, "pve1", 0, 10*time.Second)
		c.wantHA(t, haStarted, "pve2", 5*time.Second, 40*time.Second)
		c.ok("POST", haEntry+"/migrate", "node=pve1")
		c.wantHA(t, haMigrating, "pve1", 5*time.Second, 40*time.Second)
		c.wantHA(t, haStarted, "pve2", 5*time.Second, 78*time.Second)
		c.ok("PUT", haEntry, "failback=0")
		c.ok("POST", haEntry+"/migrate", "node=pve1")
		time.Sleep(2 * time.Minute)
		c.wantHA(t, haStarted, "pve1", 0, 0)
		c.ok("DELETE", "/cluster/ha/rules/home")
		c.sim.SetMaintenance("pve1", true)
		c.wantHA(t, haStarted, "pve2", 5*time.Second, 40*time.Second)
		c.sim.SetMaintenance("pve1", false)
		c.wantHA(t, haMigrating, "pve2", 0, 10*time.Second)
		c.wantHA(t, haStarted, "pve1", 5*time.Second, 40*time.Second)

		c.ok("POST", "/cluster/ha/resources", "sid=vm:101")
		c.ok("POST", "/cluster/ha/rules", "rule=apart", "type=resource-affinity", "affinity=negative", "resources=vm:100,vm:101")
		time.Sleep(2 * time.Minute)
		if synctest.Wait(); c.sim.Guests()[0].Node == c.sim.Guests()[1].Node {
			t.Error("got both guests of a negative rule on one node")
		}
		c.ok("PUT", "/cluster/ha/rules/apart", "type=resource-affinity", "affinity=positive")
		time.Sleep(2 * time.Minute)
		if synctest.Wait(); c.sim.Guests()[0].Node != c.sim.Guests()[1].Node {
			t.Error("got the guests of a positive rule on two nodes")
		}
	})
}

// TestHAFences shows the states of a guest whose node is lost.
func TestHAFences(t *testing.T) {
	bubble(t, twoNodes, func(t *testing.T, c *client) {
		c.sim.haMaster = "pve2"
		addRunningVM(t, c.sim, 100, "scsi0: san:1\n")
		c.ok("POST", "/cluster/ha/resources", "sid=vm:100")
		time.Sleep(time.Minute)
		c.sim.StopNode("pve1")
		c.wantHA(t, haFence, "pve1", 34*time.Second, 134*time.Second)
		c.wantHA(t, haStarted, "pve2", 35*time.Second, 140*time.Second)
	})
}
