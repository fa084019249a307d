package pvesim

import (
	"strings"
	"testing"
)

// TestMaintenanceIsShown checks where Proxmox shows the maintenance of a node: the list of resources and both pages of the HA manager.
func TestMaintenanceIsShown(t *testing.T) {
	c := newClient(t, Options{Nodes: []string{"pve1", "pve2"}})
	pages := map[string]string{
		"/cluster/resources":                `"hastate":"maintenance"`,
		"/cluster/ha/status/current":        `pve2 (maintenance mode, `,
		"/cluster/ha/status/manager_status": `"node_status":{"pve1":"online","pve2":"maintenance"}`,
	}
	for _, on := range []bool{false, true, false} {
		c.sim.SetMaintenance("pve2", on)
		for page, want := range pages {
			if got := c.call("GET", page); strings.Contains(string(got.body), want) != on {
				t.Errorf("%s: got %s, want %q in it: %t", page, got.body, want, on)
			}
		}
	}
}
