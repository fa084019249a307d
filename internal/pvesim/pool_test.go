package pvesim

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestPoolComments writes comments and reads them back as Proxmox stores them in user.cfg. A token without a privilege reads one pool too.
func TestPoolComments(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		read := func(c *client) string {
			t.Helper()
			var pools []struct{ Comment string }
			if err := json.Unmarshal(c.ok("GET", "/pools", "poolid=p").data(t), &pools); err != nil || len(pools) != 1 {
				t.Fatalf("got %d pools, %v, want one", len(pools), err)
			}
			return pools[0].Comment
		}
		c.ok("POST", "/pools", "poolid=p", "comment=made")
		for sent, want := range map[string]string{
			"a\nb:c %41 ü": "a\nb:c %41 ü", "  blanks  inside  ": "blanks  inside", strings.Repeat("y", 3000): strings.Repeat("y", 3000), "0": "", "": "",
		} {
			c.ok("PUT", "/pools", "poolid=p", "comment="+sent)
			if got := read(c); got != want {
				t.Errorf("got %q from %q, want %q", got, sent, want)
			}
		}
		inject(t, c.sim, Fault{Method: "GET", Path: "^/pools", Kind: CommentBefore, Key: "p", Value: "by another client"})
		if got := read(c); got != "by another client" {
			t.Errorf("got %q, want the comment of another client", got)
		}
		inject(t, c.sim, Fault{Method: "GET", Path: "^/version", Kind: CommentBefore, Key: "new", Value: "made"})
		c.ok("GET", "/version")
		if got, found := c.sim.PoolComment("new"); !found || got != "made" {
			t.Errorf("got %q, found %t, want a new pool", got, found)
		}
		token := c.sim.Token("gitops@pve!agent")
		c.sim.SetPrivileges("gitops@pve!agent", nil)
		if got := read(&client{t: t, sim: c.sim, token: token}); got != "by another client" {
			t.Errorf("without a privilege: got %q, want the comment", got)
		}
	})
}
