package pvesim

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestVMListFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), ".vmlist")
	bubble(t, Options{VMListFile: file}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		addVM(t, c.sim, 101, "")
		type row struct {
			Node, Type string
			Version    int
		}
		read := func() map[string]row {
			t.Helper()
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var l struct {
				Version int
				IDs     map[string]row
			}
			if err := json.Unmarshal(b, &l); err != nil {
				t.Fatalf("decode %q: %v", b, err)
			}
			return l.IDs
		}
		last := read()
		if last["100"].Node != "pve1" || last["100"].Type != "qemu" || len(last) != 2 {
			t.Fatalf("list: got %v, want both VMs on pve1", last)
		}
		for what, change := range map[string]func(){
			"api":  func() { c.ok("PUT", vm100+"/config", "description=x") },
			"hand": func() { _ = c.sim.Edit(100, "onboot", "1") },
			"task": func() { c.task("POST", vm100+"/config", "cores=3") },
		} {
			change()
			now := read()
			if now["100"].Version <= last["100"].Version || now["101"] != last["101"] {
				t.Errorf("%s: got %v after %v, want a higher version of 100 alone", what, now, last)
			}
			last = now
		}
		c.ok("GET", vm100+"/config")
		c.task("DELETE", "/nodes/pve1/qemu/101")
		if now := read(); len(now) != 1 || now["100"] != last["100"] {
			t.Errorf("after a destroy: got %v, want 100 as before", now)
		}
		if v := c.sim.Violations(); len(v) > 0 {
			t.Errorf("violations: got %v, want none", v)
		}
	})
}
