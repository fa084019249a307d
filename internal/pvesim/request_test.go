package pvesim

import (
	"net/http"
	"strings"
	"testing"
)

func TestBodies(t *testing.T) {
	tests := map[string]struct {
		method, typ, body string
		status            int
		reason            string
		want              map[string]string // of the config afterwards
	}{
		"json_types":   {"PUT", "application/json", `{"cores":2.0,"onboot":true,"memory":256}`, 200, "OK", map[string]string{"cores": "2", "onboot": "1", "memory": "256"}},
		"json_array":   {"PUT", "application/json", `{"tags":["b","a"]}`, 200, "OK", map[string]string{"tags": "a;b"}},
		"json_null":    {"PUT", "application/json", `{"cores":null}`, 500, "unable to parse value of 'cores' - got undefined value", nil},
		"json_broken":  {"PUT", "application/json", `{cores`, 500, `'"' expected, at character offset 1 (before "cores") at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 934.`, nil},
		"form_plus":    {"PUT", "application/x-www-form-urlencoded", "description=%C3%BC+plus%2Bsign", 200, "OK", map[string]string{"description": "ü plus+sign"}},
		"form_twice":   {"PUT", "application/x-www-form-urlencoded", "cores=1&cores=2", 400, "Parameter verification failed.", nil},
		"text":         {"PUT", "text/plain", "cores=1", 506, "upload 'Content-Type 'text/plain' not implemented", nil},
		"delete_body":  {"DELETE", "application/x-www-form-urlencoded", "purge=1", 501, "Unexpected content for method 'DELETE'", nil},
		"unknown_verb": {"PATCH", "", "", 501, "method 'PATCH' not available", nil},
		"unknown_key":  {"PUT", "application/x-www-form-urlencoded", "nosuch=1", 400, "Parameter verification failed.", nil},
		"empty":        {"PUT", "", "", 500, "no options specified", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "")
				path := "/config"
				if tt.method == http.MethodDelete {
					path = ""
				}
				req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://pve"+apiRoot+vm100+path, strings.NewReader(tt.body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "PVEAPIToken="+c.token)
				if tt.typ != "" {
					req.Header.Set("Content-Type", tt.typ)
				}
				checkReply(t, name, c.send(req), tt.status, tt.reason)
				conf := c.config(100)
				for k, want := range tt.want {
					if conf[k] != want {
						t.Errorf("%s: got %q, want %q", k, conf[k], want)
					}
				}
			})
		})
	}
}

func TestPaths(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		checkReply(t, "unknown path", c.call("GET", "/nosuch"), 501, "Method 'GET /nosuch' not implemented")
		checkReply(t, "unknown method", c.call("DELETE", "/version"), 501, "Method 'DELETE /version' not implemented")
		checkReply(t, "unknown node", c.call("GET", "/nodes/x/qemu"), 500,
			"hostname lookup 'x' failed - failed to get address info for: x: Name or service not known")
		if got := c.call("GET", "/nodes/pve1/qemu/abc/config"); !strings.Contains(got.body, "type check ('integer') failed - got 'abc'") {
			t.Errorf("bad vmid: got %s, want a failed type check", got.body)
		}
		if got := c.call("GET", "/cluster/resources", "type=qemu"); !strings.Contains(got.body, "value 'qemu' does not have a value in the enumeration 'vm, storage, node, sdn'") {
			t.Errorf("bad type: got %s, want the enumeration", got.body)
		}
		for _, path := range []string{"/", "/cluster", "/nodes", "/nodes/pve1", "/nodes/pve1/status", "/nodes/pve1/network", "/nodes/pve1/storage", "/cluster/options"} {
			c.ok("GET", path)
		}
		if got := c.sim.Counters(); got.Routes["GET /nodes/{node}/status"] != 1 || got.Writes != 1 {
			t.Errorf("counters: got %d of the status route and %d writes, want 1 and 1", got.Routes["GET /nodes/{node}/status"], got.Writes)
		}
	})
}
