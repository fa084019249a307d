package pvesim

import (
	"strings"
	"testing"
)

// TestFirewallOfAMissingGuestStaysForItsNextOwner holds that rules written to a free vmid are those of the guest that is created there, and that a
// clone replaces them.
func TestFirewallOfAMissingGuestStaysForItsNextOwner(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		for _, vmid := range []string{"700", "701"} {
			c.ok("POST", "/nodes/pve1/qemu/"+vmid+"/firewall/rules", "type=in", "action=ACCEPT", "enable=1")
		}
		c.task("POST", "/nodes/pve1/qemu", "vmid=700", "name=next", "memory=64")
		if got := c.ok("GET", "/nodes/pve1/qemu/700/firewall/rules").body; !strings.Contains(got, "ACCEPT") {
			t.Errorf("got %s, want the rule of the former owner", got)
		}
		c.task("POST", "/nodes/pve1/qemu", "vmid=702", "name=source", "memory=64")
		c.ok("PUT", "/nodes/pve1/qemu/702/firewall/options", "enable=1")
		c.task("POST", "/nodes/pve1/qemu/702/clone", "newid=701")
		if got := c.ok("GET", "/nodes/pve1/qemu/701/firewall/rules").body; got != `{"data":[]}` {
			t.Errorf("got %s, want the rules of the source", got)
		}
		if got := c.ok("GET", "/nodes/pve1/qemu/701/firewall/options").body; !strings.Contains(got, `"enable":1`) {
			t.Errorf("got %s, want the options of the source", got)
		}
	})
}
