package pvesim

import (
	"strings"
	"testing"
)

func TestReleasesDiffer(t *testing.T) {
	limited := Token{ID: "u@pve!audit", Secret: "s", ACL: []ACL{
		{Path: "/vms", Privileges: []string{"VM.Audit", "VM.GuestAgent.Audit", "VM.Allocate", "VM.Config.Options"}}, {Path: "/storage", Role: "PVEDatastoreUser"},
	}}
	tests := map[string]struct {
		version      string
		message      bool   // in the JSON of an error
		env          int    // status of setting a container's environment
		groups       int    // status of the list of HA groups
		rules        int    // status of the list of HA rules
		oci          int    // status of the download of an archive of an OCI image
		agent        string // the privilege that the token lacks to ask an agent
		start        int    // status of creating and starting without VM.PowerMgmt
		hasMemHost   bool
		hasPressures bool
	}{
		"9.2": {"9.2.11", true, 200, 500, 200, 200, "VM.GuestAgent.Audit|VM.GuestAgent.Unrestricted", 403, true, true},
		"8.4": {"8.4.14", false, 400, 200, 501, 400, "VM.Monitor", 200, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{Version: tt.version, Tokens: append(DefaultTokens(), limited)}, func(t *testing.T, c *client) {
				addRunningVM(t, c.sim, 100, "agent: 1\n")
				if _, err := c.sim.AddCT(Guest{VMID: 200}); err != nil {
					t.Fatal(err)
				}
				got := c.call("GET", "/nodes/pve1/qemu/999/config")
				if strings.Contains(got.body, "message") != tt.message || !strings.Contains(got.reason, "does not exist") {
					t.Errorf("error: got %s %s, want the message in the body to be %v", got.reason, got.body, tt.message)
				}
				if got := c.call("PUT", "/nodes/pve1/lxc/200/config", "env=A=1"); got.status != tt.env {
					t.Errorf("env: got %d %s, want %d", got.status, got.body, tt.env)
				}
				if got := c.call("GET", "/cluster/ha/groups"); got.status != tt.groups {
					t.Errorf("groups: got %d %s, want %d", got.status, got.reason, tt.groups)
				}
				if got := c.call("GET", "/cluster/ha/rules"); got.status != tt.rules {
					t.Errorf("rules: got %d %s, want %d", got.status, got.reason, tt.rules)
				}
				if got := c.call("POST", "/nodes/pve1/storage/local/download-url", "content=vztmpl", "filename=nginx.tar", "url="+imageURL); got.status != tt.oci {
					t.Errorf("OCI archive: got %d %s, want %d", got.status, got.body, tt.oci)
				}
				u := c.as("u@pve!audit")
				u.ok("POST", vm100+"/agent/ping")
				c.sim.SetPrivileges("u@pve!audit", []ACL{{Path: "/vms", Privileges: limited.ACL[0].Privileges[:1]}})
				checkReply(t, "agent", u.call("POST", vm100+"/agent/ping"), 403, "Permission check failed (/vms/100, "+tt.agent+")")
				c.sim.SetPrivileges("u@pve!audit", limited.ACL)
				if got := u.call("POST", "/nodes/pve1/qemu", "vmid=101", "start=1"); got.status != tt.start {
					t.Errorf("create and start: got %d %s, want %d", got.status, got.reason, tt.start)
				}
				list := c.ok("GET", "/nodes/pve1/qemu").body
				if strings.Contains(list, "memhost") != tt.hasMemHost || strings.Contains(list, "pressurecpufull") != tt.hasPressures {
					t.Errorf("list: got %s, want memhost %v and pressures %v", list, tt.hasMemHost, tt.hasPressures)
				}
			})
		})
	}
}

func TestHAGroupsAndRules(t *testing.T) {
	for name, tt := range map[string]struct{ version, path, create, taken, change, want string }{
		"groups": {"8.4.14", "/cluster/ha/groups", "group=fast&nodes=pve1:2", "ID 'fast' already defined", "nodes=pve1", `"nodes":"pve1"`},
		"rules": {
			"9.2.11", "/cluster/ha/rules", "rule=fast&type=node-affinity&resources=vm:100&nodes=pve1", "HA rule 'fast' already defined",
			"type=node-affinity&comment=x", `"comment":"x"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{Version: tt.version}, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "")
				c.ok("POST", "/cluster/ha/resources", "sid=vm:100", "state=ignored")
				c.ok("POST", tt.path, strings.Split(tt.create, "&")...)
				if got := c.call("POST", tt.path, strings.Split(tt.create, "&")...); got.status != 500 || !strings.Contains(got.reason, tt.taken) {
					t.Errorf("again: got %d %s, want it refused", got.status, got.reason)
				}
				c.ok("PUT", tt.path+"/fast", strings.Split(tt.change, "&")...)
				if body := c.ok("GET", tt.path+"/fast").body; !strings.Contains(body, tt.want) {
					t.Errorf("changed: got %s, want %s", body, tt.want)
				}
				checkReply(t, "without privilege", c.as("gitops@pve!agent").call("DELETE", tt.path+"/fast"), 403, "Permission check failed (/, Sys.Console)")
				c.ok("DELETE", tt.path+"/fast")
				if body := c.ok("GET", tt.path).body; body != `{"data":[]}` {
					t.Errorf("deleted: got %s, want an empty list", body)
				}
			})
		})
	}
}

// On release 8, each guest has one group, a group with guests stays, and nodes come in any order. Release 9 shows the groups as rules until it migrates them.
func TestHAGroupsBecomeRules(t *testing.T) {
	const resources, groups, rules = "/cluster/ha/resources", "/cluster/ha/groups", "/cluster/ha/rules"
	bubble(t, Options{Version: "8.4.14", Nodes: []string{"pve1", "pve2", "pve3"}}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		c.ok("POST", resources, "sid=vm:100", "state=ignored")
		checkReply(t, "unknown group", c.call("PUT", resources+"/vm:100", "group=fast"), 500, "HA group 'fast' does not exist")
		checkReply(t, "parameter of release 9", c.call("PUT", resources+"/vm:100", "failback=1"), 400, "Parameter verification failed.")
		c.ok("POST", groups, "group=fast", "nodes=pve1:2,pve2,pve3", "restricted=1", "nofailback=1", "comment=x")
		c.ok("POST", groups, "group=empty", "nodes=pve1")
		c.ok("PUT", resources+"/vm:100", "group=fast")
		checkReply(t, "removal of a used group", c.call("DELETE", groups+"/fast"), 500, "delete ha group failed: ha group is used by service 'vm:100'")
		checkReply(t, "removal of the nodes", c.call("PUT", groups+"/fast", "delete=nodes"), 500, "update ha group failed: unable to delete required option 'nodes'")
		checkReply(t, "old digest", c.call("PUT", groups+"/fast", "comment=y", "digest=0"), 500, "update ha group failed: detected modified configuration - file changed by other user? Try again.")
		orders := map[string]bool{}
		for range 40 {
			_, list, _ := strings.Cut(c.ok("GET", groups+"/fast").body, `"nodes":"`)
			orders[list] = true
		}
		if len(orders) < 2 {
			t.Errorf("got %v, want the nodes in any order", orders)
		}
		c.ok("DELETE", groups+"/missing")

		c.sim.Upgrade("9.2.11")
		before := c.ok("GET", rules).body
		if !strings.Contains(before, `"rule":"ha-group-fast"`) || !strings.Contains(before, `"resources":"vm:100"`) || strings.Contains(before, "ha-group-empty") {
			t.Errorf("before the migration: got %s, want the rule that the group becomes", before)
		}
		c.ok("GET", groups)
		checkReply(t, "new rule before the migration", c.call("POST", rules, "rule=ab", "type=node-affinity", "resources=vm:100", "nodes=pve1"), 500, "cannot create ha rule: ha groups have not been migrated yet")
		checkReply(t, "change before the migration", c.call("PUT", rules+"/ha-group-fast", "type=node-affinity", "comment=y"), 500, "cannot update ha rule: ha groups have not been migrated yet")
		c.sim.MigrateGroups()
		if after := c.ok("GET", rules+"/ha-group-fast").body; !strings.Contains(after, `"strict":1`) || !strings.Contains(after, `"comment":"x"`) {
			t.Errorf("after the migration: got %s", after)
		}
		if body := c.ok("GET", resources+"/vm:100").body; !strings.Contains(body, `"failback":0`) || strings.Contains(body, "group") {
			t.Errorf("after the migration: got the resource %s, want failback 0 and no group", body)
		}
		checkReply(t, "groups", c.call("GET", groups), 500, "cannot index groups: ha groups have been migrated to rules")
		checkReply(t, "group of a resource", c.call("PUT", resources+"/vm:100", "group=fast"), 500, "invalid parameter 'group': ha groups have been migrated to rules")
		c.ok("PUT", rules+"/ha-group-fast", "type=node-affinity", "comment=y")
	})
}
