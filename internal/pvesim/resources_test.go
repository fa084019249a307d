package pvesim

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// inventory returns one field of the guests in /cluster/resources, by vmid.
func inventory(t *testing.T, c *client, field string) map[int]string {
	t.Helper()
	var rows []map[string]json.RawMessage
	if err := json.Unmarshal(c.ok("GET", "/cluster/resources", "type=vm").data(t), &rows); err != nil {
		t.Fatal(err)
	}
	out := map[int]string{}
	for _, r := range rows {
		out[atoi(string(r["vmid"]))] = strings.Trim(string(r[field]), `"`)
	}
	return out
}

func TestBroadcastOfADeadNodeExpires(t *testing.T) {
	bubble(t, Options{Nodes: []string{"pve1", "pve2"}, ResourcesPeriod: 10 * time.Second, HADelay: -1}, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "name: here\n")
		if _, err := c.sim.AddVM(Guest{VMID: 101, Node: "pve2", Config: "name: there\n", Running: true}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Second)
		c.sim.StopNode("pve2")
		time.Sleep(299 * time.Second)
		if got := inventory(t, c, "status"); got[101] != "running" || got[100] != "running" {
			t.Errorf("before five minutes: got %v, want both as last seen", got)
		}
		time.Sleep(2 * time.Second)
		if got, names := inventory(t, c, "status"), inventory(t, c, "name"); got[101] != "unknown" || names[101] != "" || names[100] != "here" {
			t.Errorf("after five minutes: got %v %v, want 101 unknown and without a name", got, names)
		}
		c.sim.StartNode("pve2")
		time.Sleep(11 * time.Second)
		if got := inventory(t, c, "name"); got[101] != "there" {
			t.Errorf("back again: got %v, want the name", got)
		}
	})
}

func TestInventoryCachedPerFrontWorker(t *testing.T) {
	bubble(t, Options{ResourcesPeriod: 10 * time.Second, ResourcesCache: 2 * time.Second}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "name: old\n")
		time.Sleep(20 * time.Second)
		inventory(t, c, "name") // fills the cache of the first front worker
		time.Sleep(7 * time.Second)
		inventory(t, c, "name") // fills the cache of the second
		c.ok("PUT", vm100+"/config", "name=new")
		time.Sleep(1500 * time.Millisecond) // a new round has started
		got := []string{inventory(t, c, "name")[100], inventory(t, c, "name")[100], inventory(t, c, "name")[100]}
		if strings.Join(got, " ") != "new new old" {
			t.Errorf("three calls in a row: got %v, want new, new and, from the worker that read last, old", got)
		}
	})
}

func TestInventoryOfManagedGuests(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		c.ok("POST", "/cluster/ha/resources", "sid=vm:100", "state=stopped")
		if got := inventory(t, c, "hastate")[100]; got != "stopped" {
			t.Errorf("before the manager looked: got %q, want what the entry asks for", got)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := inventory(t, c, "hastate")[100]; got != "stopped" {
			t.Errorf("afterwards: got %q, want stopped", got)
		}
		if body := c.ok("GET", vm100+"/status/current").body; !strings.Contains(body, `"ha":{"managed":1,"state":"stopped"}`) {
			t.Errorf("status: got %s, want the state", body)
		}
	})
}

func TestInventoryFilteredByPrivilege(t *testing.T) {
	opts := Options{Tokens: append(DefaultTokens(), Token{ID: "u@pve!x", Secret: "s", ACL: []ACL{{Path: "/vms/100", Privileges: []string{"VM.Audit"}}}})}
	bubble(t, opts, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		addVM(t, c.sim, 101, "")
		c.sim.AddPool("p", "", 100)
		u := c.as("u@pve!x")
		if got := inventory(t, u, "pool"); len(got) != 1 || got[100] != "" {
			t.Errorf("inventory: got %v, want 100 alone and no pool", got)
		}
		if got := u.call("GET", "/cluster/nextid", "vmid=101"); got.status != 400 {
			t.Errorf("next id: got %d, want 400 for a guest that the caller cannot see", got.status)
		}
	})
}

func TestOldTasksExpire(t *testing.T) {
	bubble(t, Options{TaskArchive: 2}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		var names []string
		for range 4 {
			var upid string
			if err := json.Unmarshal(c.ok("POST", vm100+"/config", "onboot=1").data(t), &upid); err != nil {
				t.Fatal(err)
			}
			c.wait(upid)
			names = append(names, upid)
		}
		for i, known := range []bool{false, true, true, true} { // the newest task was running when the index was shortened
			got := c.call("GET", "/nodes/pve1/tasks/"+names[i]+"/status")
			if (got.status == 200) != known {
				t.Errorf("task %d: got %d %s, want it known: %v", i, got.status, got.body, known)
			}
		}
		if n := strings.Count(c.ok("GET", "/nodes/pve1/tasks").body, `"upid"`); n != 3 {
			t.Errorf("list: got %d tasks, want 3", n)
		}
	})
}
