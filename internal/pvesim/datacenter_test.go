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

// TestTagsOfNewGuests creates guests with tags as a caller who may not set all of them. A VM is refused by its task, also for a tag that is allowed.
func TestTagsOfNewGuests(t *testing.T) {
	tests := map[string]struct {
		cluster Datacenter
		tags    string
		vm, ct  string // how the task ends, and the reason of the reply
	}{
		"none":       {Datacenter{TagAccess: "none"}, "a", "unable to create VM 100 - 403 Permission check failed (/, Sys.Modify for modifying tag 'a')", "Permission check failed (/, Sys.Modify for modifying tag 'a')"},
		"registered": {Datacenter{RegisteredTags: []string{"a"}}, "a", "unable to create VM 100 - 403 Permission check failed (/, Sys.Modify for modifying tag 'a')", "Permission check failed (/, Sys.Modify for modifying tag 'a')"},
		"listed":     {Datacenter{TagAccess: "list", AllowedTags: []string{"a"}}, "a", "unable to create VM 100 - 403 Permission check failed (/, Sys.Modify for modifying tag 'HASH(0x5610f0a7e9d8)')", "OK"},
		"free":       {Datacenter{RegisteredTags: []string{"b"}}, "a", "OK", "OK"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{Cluster: tt.cluster}, func(t *testing.T, c *client) {
				if err := c.sim.AddVolume("local:vztmpl/alpine.tar.gz", 1<<20); err != nil {
					t.Fatal(err)
				}
				agent := c.as("gitops@pve!agent")
				if got := agent.task("POST", "/nodes/pve1/qemu", "vmid=100", "scsi0=local:1", "tags="+tt.tags); got != tt.vm {
					t.Errorf("VM: got %s, want %s", got, tt.vm)
				}
				if tt.vm != "OK" && (c.sim.Config(100) != "" || len(c.sim.volumesOf(100)) != 0) {
					t.Errorf("VM: got config %q, want nothing left", c.sim.Config(100))
				}
				if got := agent.call("POST", "/nodes/pve1/lxc", "vmid=200", "ostemplate=local:vztmpl/alpine.tar.gz", "tags="+tt.tags); got.reason != tt.ct {
					t.Errorf("container: got %s, want %s", got.reason, tt.ct)
				}
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
