package pvesim

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestReplicationJobsAreMarkedForRemoval makes, changes and removes a job. A job that is removed stays until the node of its guest has worked on it.
func TestReplicationJobsAreMarkedForRemoval(t *testing.T) {
	bubble(t, Options{Nodes: []string{"pve1", "pve2"}}, func(t *testing.T, c *client) {
		if _, err := c.sim.AddVM(Guest{VMID: 100}); err != nil {
			t.Fatal(err)
		}
		refused := func(want, method, path string, params ...string) {
			t.Helper()
			if got := c.call(method, path, params...); got.status == http.StatusOK || !strings.Contains(got.body, want) {
				t.Errorf("%s %s %v: got %d %s, want it refused: %s", method, path, params, got.status, got.body, want)
			}
		}
		refused("Guest '101' does not exist.", "POST", "/cluster/replication", "id=101-0", "type=local", "target=pve2")
		refused("Target 'pve9' does not exist.", "POST", "/cluster/replication", "id=100-0", "type=local", "target=pve9")
		c.ok("POST", "/cluster/replication", "id=100-0", "type=local", "target=pve2", "disable=1")
		refused("already exists", "POST", "/cluster/replication", "id=100-0", "type=local", "target=pve2")
		refused("replication job for guest '100' to target 'local/pve2' already exists", "POST", "/cluster/replication", "id=100-1", "type=local", "target=pve2")
		refused("property is not defined", "PUT", "/cluster/replication/100-0", "target=pve1")
		refused("detected modified configuration", "PUT", "/cluster/replication/100-0", "rate=5", "digest=abc")
		c.ok("PUT", "/cluster/replication/100-0", "rate=5", "delete=disable", "digest="+c.ok("GET", "/cluster/replication/100-0").fields(t)["digest"])
		if got := c.sim.Replication("100-0"); got["rate"] != "5" || got["disable"] != "" {
			t.Errorf("got %v", got)
		}
		refused("There is a replication job '100-0' for guest '100' - Please remove that first.", "DELETE", "/nodes/pve1/qemu/100")

		c.ok("DELETE", "/cluster/replication/100-0")
		if got := c.ok("GET", "/cluster/replication/100-0").fields(t)["remove_job"]; got != "full" {
			t.Errorf("got remove_job %q, want full", got)
		}
		c.sim.StopNode("pve1")
		time.Sleep(3 * time.Minute)
		if c.sim.Replication("100-0") == nil {
			t.Error("got no job, want it until the node answers")
		}
	})
}
