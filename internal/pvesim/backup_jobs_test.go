package pvesim

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestBackupJobsKeepWhatTheyWereSent writes jobs as forms and as JSON.
func TestBackupJobsKeepWhatTheyWereSent(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		c.sim.AddPool("web", "")
		post := c.call("POST", "/cluster/backup", "id=nightly", "schedule=daily", "vmid=101,100,100", "prune-backups=keep-last=0", "exclude-path=/tmp/?*", "exclude-path=/var,log")
		if post.status != http.StatusOK {
			t.Fatalf("got %d %s", post.status, post.reason)
		}
		want := func(want string) {
			t.Helper()
			var got, wanted any
			body := c.call("GET", "/cluster/backup/nightly").data(t)
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(want), &wanted); err != nil {
				t.Fatal(err)
			}
			if g, w := marshal(t, got), marshal(t, wanted); g != w {
				t.Errorf("got  %s\nwant %s", g, w)
			}
		}
		want(`{"id":"nightly","type":"vzdump","enabled":1,"schedule":"daily","vmid":"101,100,100","prune-backups":{"keep-all":1},"exclude-path":["/tmp/?*","/var,log"]}`)
		for _, change := range []string{"pool=web", "delete=prune-backups,exclude-path", "fleecing=1,storage=local"} {
			if put := c.call("PUT", "/cluster/backup/nightly", strings.Fields(change)...); put.status != http.StatusOK {
				t.Errorf("%s: got %d %s", change, put.status, put.reason)
			}
		}
		want(`{"id":"nightly","type":"vzdump","enabled":1,"schedule":"daily","pool":"web","fleecing":{"enabled":1,"storage":"local"}}`)
		if put := c.call("PUT", "/cluster/backup/nightly", "dumpdir=/tmp"); put.status != http.StatusBadRequest {
			t.Errorf("dumpdir: got %d %s, want it refused", put.status, put.reason)
		}
		if put := c.call("PUT", "/cluster/backup/nightly", "schedule=daily", "schedule=hourly"); put.status != http.StatusBadRequest {
			t.Errorf("two schedules: got %d %s, want them refused", put.status, put.reason)
		}
	})
}

// TestPurgeTakesGuestsOutOfBackupJobs destroys guests with and without purge.
func TestPurgeTakesGuestsOutOfBackupJobs(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		for _, vmid := range []int{100, 101, 102} {
			if _, err := c.sim.AddVM(Guest{VMID: vmid}); err != nil {
				t.Fatal(err)
			}
		}
		c.sim.SetBackupJob("list", map[string]string{"schedule": "daily", "vmid": "100,101,102"})
		c.sim.SetBackupJob("others", map[string]string{"schedule": "daily", "all": "1", "exclude": "101"})
		for _, path := range []string{"/nodes/pve1/qemu/100", "/nodes/pve1/qemu/101?purge=1", "/nodes/pve1/qemu/102?purge=1"} {
			c.task("DELETE", path)
		}
		if got := c.sim.BackupJob("list")["vmid"]; got != "100" {
			t.Errorf("got %q, want the guest that was destroyed without purge", got)
		}
		if _, err := c.sim.AddVM(Guest{VMID: 100}); err != nil {
			t.Fatal(err)
		}
		c.task("DELETE", "/nodes/pve1/qemu/100?purge=1")
		if got := c.sim.BackupJob("list"); got != nil {
			t.Errorf("got %v, want no job: its last guest is gone", got)
		}
		if got := c.sim.BackupJob("others")["exclude"]; got != "101" {
			t.Errorf("got exclude %q, want it kept", got)
		}
	})
}
