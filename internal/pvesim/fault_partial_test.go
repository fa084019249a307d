package pvesim

import (
	"testing"
	"time"
)

// TestWriteFailsBetweenKeys: the order of the keys is random, and the same under the same seed.
func TestWriteFailsBetweenKeys(t *testing.T) {
	applied := map[string]bool{}
	bySeed := map[uint64]string{}
	for i := range uint64(32) {
		seed := i % 8
		bubble(t, Options{Seed: seed}, func(t *testing.T, c *client) {
			addVM(t, c.sim, 100, "name: old\n")
			inject(t, c.sim, Fault{Kind: FailMidway, Phase: 1, Text: "unable to open file: Input/output error", VMID: 100})
			checkReply(t, "write", c.call("PUT", vm100+"/config", "cores=3", "onboot=1", "delete=name"), 500, "unable to open file: Input/output error")
			c.ok("PUT", vm100+"/config", "description=x") // the staged changes are applied with the next write
			conf := c.config(100)
			if conf["name"] != "" {
				t.Errorf("name: got %s, want it deleted first", conf["name"])
			}
			if (conf["cores"] == "3") == (conf["onboot"] == "1") {
				t.Errorf("seed %d: got cores %q and onboot %q, want one of them written", seed, conf["cores"], conf["onboot"])
			}
			if before, again := bySeed[seed]; again && conf["cores"] != before {
				t.Errorf("seed %d: got cores %q, want %q as before", seed, conf["cores"], before)
			}
			applied[conf["cores"]], bySeed[seed] = true, conf["cores"]
		})
	}
	if len(applied) != 2 {
		t.Errorf("order of keys: got the same one first under every seed, want it random")
	}
}

func TestListRacesWithADestroy(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		addVM(t, c.sim, 101, "")
		inject(t, c.sim, Fault{Kind: ListRace, Method: "DELETE", VMID: 100, Delay: time.Second})
		c.task("DELETE", vm100)
		checkReply(t, "list", c.call("GET", "/nodes/pve1/qemu"), 500, "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist")
		c.ok("GET", "/nodes/pve1/lxc")
		c.ok("GET", "/cluster/resources")
		c.ok("GET", "/nodes/pve1/qemu/101/config")
		time.Sleep(time.Second)
		c.ok("GET", "/nodes/pve1/qemu")
		c.task("DELETE", "/nodes/pve1/qemu/101") // without the fault
		c.ok("GET", "/nodes/pve1/qemu")
	})
}

func TestRebootThatStaysDown(t *testing.T) {
	for name, text := range map[string]string{"start_fails": "start failed", "no_start": ""} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "")
				c.task("POST", vm100+"/status/start")
				inject(t, c.sim, Fault{Kind: StaysDown, Path: "/status/reboot$", Text: text})
				c.task("POST", vm100+"/status/reboot")
				time.Sleep(time.Minute)
				if c.sim.Running(100) {
					t.Error("got a guest that runs, want it down after a reboot that was OK")
				}
			})
		})
	}
}
