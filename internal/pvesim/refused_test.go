package pvesim

import (
	"strings"
	"testing"
)

// TestRefusedRequestIsNotUndone refuses a request whose earlier keys are worked off already, as in recording 71: what they staged stays, the next request applies it, and
// revert takes it back. Tags are removed at once.
func TestRefusedRequestIsNotUndone(t *testing.T) {
	const refused = "can't remove drive 'scsi1' - protection mode enabled"
	pending := func(c *client) string {
		_, section, _ := strings.Cut(c.sim.Config(100), "[PENDING]")
		return strings.TrimSpace(section)
	}
	tests := map[string]struct {
		request []string
		left    string // in the section of pending changes
		gone    string // from the configuration, at once
	}{
		"protection_first":      {[]string{"delete=protection,scsi1"}, "delete: protection", ""},
		"drive_first":           {[]string{"delete=scsi1,protection"}, "", ""},
		"sets_after_deletes":    {[]string{"delete=scsi1", "description=both", "memory=96"}, "", ""},
		"protection_set":        {[]string{"delete=scsi1", "protection=0"}, "", ""},
		"tags_before":           {[]string{"delete=tags,scsi1,description", "memory=96"}, "", "tags"},
		"tags_behind_the_drive": {[]string{"delete=scsi1,tags"}, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "protection: 1\nmemory: 64\ntags: a\ndescription: d\nscsi0: local-lvm:1\nscsi1: local-lvm:1\n")
				checkReply(t, "request", c.call("PUT", vm100+"/config", test.request...), 500, refused)
				if got := pending(c); got != test.left {
					t.Errorf("got %q pending, want %q", got, test.left)
				}
				conf := c.config(100)
				for _, key := range []string{"tags", "description", "scsi1"} {
					if (conf[key] == "") != (key == test.gone) {
						t.Errorf("got %s %q after the request, want it gone %t", key, conf[key], key == test.gone)
					}
				}
				if test.left == "" {
					return
				}
				c.ok("PUT", vm100+"/config", "revert=protection")
				if got := pending(c); got != "" || c.config(100)["protection"] != "1" {
					t.Errorf("got %q pending and protection %q after the revert, want it on", got, c.config(100)["protection"])
				}
				checkReply(t, "request", c.call("PUT", vm100+"/config", test.request...), 500, refused)
				c.ok("PUT", vm100+"/config", "description=harmless")
				if got := c.config(100)["protection"]; got != "" {
					t.Errorf("got protection %q after a harmless request, want it gone", got)
				}
			})
		})
	}
}
