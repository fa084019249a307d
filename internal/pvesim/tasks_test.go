package pvesim

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestUPIDFormat(t *testing.T) {
	u := upid{node: "pve1", pid: 0xd3, pstart: 0x3a844, starttime: 0x6b00c1f6, typ: "qmcreate", id: "101", user: "gitops@pve!agent"}
	if got, want := u.String(), "UPID:pve1:000000D3:0003A844:6B00C1F6:qmcreate:101:gitops@pve!agent:"; got != want {
		t.Errorf("upid: got %s, want %s", got, want)
	}
	if !upidText.MatchString(u.String()) {
		t.Errorf("pattern: got no match for %s, want one", u)
	}
}

func TestTaskRunsThenStops(t *testing.T) {
	bubble(t, Options{TaskTime: time.Second}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		agent := c.as("gitops@pve!agent")
		name := strings.Trim(string(agent.ok("POST", vm100+"/status/start").data(t)), `"`)
		if !regexp.MustCompile(`^UPID:pve1:[0-9A-F]{8}:[0-9A-F]{8}:[0-9A-F]{8}:qmstart:100:gitops@pve!agent:$`).MatchString(name) {
			t.Errorf("upid: got %s", name)
		}
		f := agent.ok("GET", "/nodes/pve1/tasks/"+name+"/status").fields(t)
		if f["status"] != "running" || f["exitstatus"] != "" || f["user"] != "gitops@pve" || f["tokenid"] != "agent" {
			t.Errorf("status at first: got %v, want it running, user and token apart", f)
		}
		var active []map[string]any
		if err := json.Unmarshal(agent.ok("GET", "/nodes/pve1/tasks", "source=active", "vmid=100").data(t), &active); err != nil {
			t.Fatal(err)
		}
		if len(active) != 1 || active[0]["status"] != "RUNNING" || active[0]["user"] != "gitops@pve!agent" {
			t.Errorf("active list: got %v, want the one task", active)
		}
		if got := c.wait(name); got != "OK" {
			t.Errorf("exit: got %s, want OK", got)
		}
		log := agent.ok("GET", "/nodes/pve1/tasks/"+name+"/log").body
		if !strings.Contains(log, `"t":"TASK OK"`) || !strings.Contains(log, `"total":1`) {
			t.Errorf("log: got %s, want one line TASK OK and the total", log)
		}
	})
}

func TestTaskListFilters(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		addVM(t, c.sim, 101, "scsi0: local-lvm:1,iothread=1\n")
		c.task("POST", vm100+"/status/start")
		c.task("POST", vm100+"/status/start") // fails: it runs
		c.task("POST", "/nodes/pve1/qemu/101/status/start")
		for query, want := range map[string]int{
			"":                     3,
			"vmid=100":             2,
			"typefilter=qmstart":   3,
			"typefilter=qmstop":    0,
			"errors=1":             2,
			"statusfilter=warning": 1,
			"statusfilter=error":   1,
			"statusfilter=ok":      1,
			"limit=1":              1,
			"start=2":              1,
			"source=active":        0,
			"since=99999999999":    0,
			"userfilter=nobody":    0,
		} {
			var params []string
			if query != "" {
				params = append(params, query)
			}
			if got := strings.Count(c.ok("GET", "/nodes/pve1/tasks", params...).body, `"upid"`); got != want {
				t.Errorf("tasks with %q: got %d, want %d", query, got, want)
			}
		}
		checkReply(t, "unknown", c.call("GET", "/nodes/pve1/tasks/UPID:pve1:00000001:00000001:00000001:qmstart:1:root@pam:/status"), 400,
			"Parameter verification failed.")
	})
}

func TestLogPaging(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		c.task("POST", vm100+"/status/start")
		task := c.sim.Tasks()[0].UPID
		_ = c.sim.locked(func() error {
			for range 80 {
				c.sim.taskIndex[task].printf("line")
			}
			return nil
		})
		for query, want := range map[string]int{"": 50, "limit=0": 81, "start=78": 3, "limit=7": 7, "start=500": 0} {
			var params []string
			if query != "" {
				params = append(params, query)
			}
			body := c.ok("GET", "/nodes/pve1/tasks/"+task+"/log", params...).body
			if got := strings.Count(body, `"n":`); got != want || !strings.Contains(body, `"total":81`) {
				t.Errorf("log with %q: got %d lines, want %d of 81", query, got, want)
			}
		}
	})
}

func TestIgnoredShutdownHoldsTheLock(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "")
		if err := c.sim.IgnoreShutdown(100); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if got := c.task("POST", vm100+"/status/shutdown", "timeout=40"); got != "VM quit/powerdown failed - got timeout" {
			t.Errorf("shutdown: got %s, want a timeout", got)
		}
		if got := time.Since(begun).Round(time.Second); got != 40*time.Second {
			t.Errorf("time of the task: got %s, want 40s", got)
		}
		c.ok("POST", vm100+"/status/shutdown", "timeout=40")
		time.Sleep(time.Second)
		checkReply(t, "write meanwhile", c.call("PUT", vm100+"/config", "onboot=1"), 500, "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout")
		if got := c.task("POST", vm100+"/status/stop", "overrule-shutdown=1"); got != "OK" || c.sim.Running(100) {
			t.Errorf("stop that overrules: got %s, want OK and stopped", got)
		}
	})
}

// TestContainerRebootKills: of a container that ignores the request, Proxmox ends a shutdown with an error, and kills it for a restart.
func TestContainerRebootKills(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		if _, err := c.sim.AddCT(Guest{VMID: 200, Running: true}); err != nil {
			t.Fatal(err)
		}
		if err := c.sim.IgnoreShutdown(200); err != nil {
			t.Fatal(err)
		}
		const status = "/nodes/pve1/lxc/200/status/"
		if got := c.task("POST", status+"shutdown", "timeout=40"); got != "container did not stop" || !c.sim.Running(200) {
			t.Errorf("shutdown: got %s, want an error and a running container", got)
		}
		begun := time.Now()
		if got := c.task("POST", status+"reboot", "timeout=40"); got != "OK" || !c.sim.Running(200) || time.Since(begun) < 40*time.Second {
			t.Errorf("reboot: got %s after %s, want OK after the timeout", got, time.Since(begun))
		}
		if err := c.sim.IgnoreShutdown(200); err != nil {
			t.Fatal(err)
		}
		if got := c.task("POST", status+"shutdown", "timeout=40", "forceStop=1"); got != "OK" || c.sim.Running(200) {
			t.Errorf("shutdown with forceStop: got %s, want OK and a stopped container", got)
		}
	})
}
