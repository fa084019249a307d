package pvesim

import (
	"strings"
	"testing"
)

func TestTagsFollowDatacenterOptions(t *testing.T) {
	tests := map[string]struct {
		cluster Datacenter
		want    string
	}{
		"default": {Datacenter{}, "a;b"},
		"case":    {Datacenter{CaseSensitiveTags: true}, "B;a;b"},
		"order":   {Datacenter{TagsAsGiven: true}, "b;a"},
		"both":    {Datacenter{CaseSensitiveTags: true, TagsAsGiven: true}, "b;B;a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{Cluster: tt.cluster}, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "")
				c.ok("PUT", vm100+"/config", "tags=b,B a;b")
				if got := c.config(100)["tags"]; got != tt.want {
					t.Errorf("tags: got %s, want %s", got, tt.want)
				}
				if has := strings.Contains(c.ok("GET", "/cluster/options").body, "tag-style"); has != (name != "default") {
					t.Errorf("options: got tag-style %v, want it only when set", has)
				}
			})
		})
	}
}

func TestTagAccess(t *testing.T) {
	tests := map[string]struct {
		cluster Datacenter
		tags    string
		refused bool
	}{
		"registered":    {Datacenter{RegisteredTags: []string{"vip"}}, "used;vip", true},
		"unregistered":  {Datacenter{RegisteredTags: []string{"vip"}}, "used;other", false},
		"existing":      {Datacenter{TagAccess: "existing"}, "used;elsewhere", false},
		"not_existing":  {Datacenter{TagAccess: "existing"}, "used;new", true},
		"listed":        {Datacenter{TagAccess: "list", AllowedTags: []string{"ok"}}, "used;ok", false},
		"not_listed":    {Datacenter{TagAccess: "list", AllowedTags: []string{"ok"}}, "used;elsewhere", true},
		"none_unharmed": {Datacenter{TagAccess: "none"}, "used", false},
		"none_removed":  {Datacenter{TagAccess: "none"}, "", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{Cluster: tt.cluster}, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "tags: used\n")
				addVM(t, c.sim, 101, "tags: elsewhere\n")
				got := c.as("gitops@pve!agent").call("PUT", vm100+"/config", "tags="+tt.tags)
				if (got.status == 403) != tt.refused {
					t.Errorf("agent: got %d %s, want it refused: %v", got.status, got.reason, tt.refused)
				}
				c.ok("PUT", vm100+"/config", "tags="+tt.tags) // with Sys.Modify
			})
		})
	}
}

func TestNextIDRange(t *testing.T) {
	bubble(t, Options{Cluster: Datacenter{LowestID: 500, HighestID: 502}}, func(t *testing.T, c *client) {
		for _, want := range []string{`"500"`, `"501"`} {
			got := string(c.ok("GET", "/cluster/nextid").data(t))
			if got != want {
				t.Errorf("next id: got %s, want %s", got, want)
			}
			addVM(t, c.sim, atoi(strings.Trim(got, `"`)), "")
		}
		checkReply(t, "none left", c.call("GET", "/cluster/nextid"), 500, "unable to get any free VMID in range [500, 501]")
	})
}
