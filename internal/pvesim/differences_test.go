package pvesim

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

const (
	vmRulesPath  = "/nodes/pve1/qemu/100/firewall/rules"
	ctRulesPath  = "/nodes/pve1/lxc/200/firewall/rules"
	verification = "Parameter verification failed."
)

// difference is a request on which the simulator once answered differently from Proxmox VE 9.2.11, whose code answered the same request.
type difference struct {
	before               []string // requests that must succeed: "POST /path key=value ..."
	method, path, params string
	status               int
	reason               string
	errors               map[string]string // of the parameters
	data                 string            // of a reply without error, if it is known
}

// TestAsProxmoxAnswered sends requests to which the answers of Proxmox VE are known, by the cause of a former difference.
func TestAsProxmoxAnswered(t *testing.T) {
	refused := func(params ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(params); i += 2 {
			m[params[i]] = params[i+1]
		}
		return m
	}
	vmSource, ctSource := "POST "+vmRulesPath+" type=in action=ACCEPT source=", "POST "+ctRulesPath+" type=in action=ACCEPT enable=0"
	managed := []string{"POST /cluster/ha/resources sid=vm:100", "POST /cluster/ha/resources sid=ct:200"}
	nodeRule := "POST /cluster/ha/rules rule=r1 type=node-affinity resources=vm:100 nodes=pve1"
	together := "POST /cluster/ha/rules rule=r2 type=resource-affinity resources=vm:100,ct:200 affinity=positive"
	twice := "create ha rule failed: 400 Rule 'r8' is invalid.\nresources: resource 'vm:100' is already used in another node affinity rule"
	pool := []string{"POST /pools poolid=pa", "PUT /pools/pa storage=nostore"}
	tests := map[string]difference{
		"icmp_type_as_port_of_a_vm": {nil, "POST", vmRulesPath, "type=in action=ACCEPT proto=icmp dport=echo-request", 200, "OK", nil, "null"},
		"icmp_type_as_port_of_a_container": {
			nil, "POST", ctRulesPath, "type=in action=ACCEPT proto=icmp dport=echo-request", 200, "OK", nil, "null",
		},
		"icmp_type_of_tcp": {
			nil, "POST", vmRulesPath, "type=in action=ACCEPT proto=tcp icmp-type=echo-request", 400, verification,
			refused("proto", "missing property - 'icmp-type' requires this property"), "",
		},
		"icmp_type_of_icmpv6": {
			[]string{"POST " + vmRulesPath + " type=in action=ACCEPT enable=0 proto=icmpv6 icmp-type=echo-request"},
			"GET", vmRulesPath + "/0", "", 200, "OK", nil,
			`{"action":"ACCEPT","enable":0,"icmp-type":"echo-request","ipversion":6,"proto":"icmpv6","type":"in","pos":"0"}`,
		},
		"macro_with_its_own_protocol": {
			[]string{ctSource, "PUT " + ctRulesPath + "/0 macro=SSH proto=tcp"},
			"GET", ctRulesPath + "/0", "", 200, "OK", nil,
			`{"action":"ACCEPT","enable":0,"macro":"SSH","proto":"tcp","type":"in","pos":"0"}`,
		},
		"macro_with_another_protocol": {
			[]string{ctSource},
			"PUT", ctRulesPath + "/0", "macro=SSH proto=udp", 400, verification,
			refused("proto", "parameter 'proto' already define in macro (value = 'tcp')"), "",
		},
		"forwarding_in_a_container": {
			nil, "POST", ctRulesPath, "type=forward action=ACCEPT", 400, verification, refused("type", "invalid rule type 'forward' for rule_env 'ct'"), "",
		},
		"references_list_sets_first": {
			[]string{
				"POST /nodes/pve1/lxc/200/firewall/aliases name=srv9 cidr=10.0.0.9", "POST /nodes/pve1/lxc/200/firewall/ipset name=web comment=w",
				"POST /cluster/firewall/aliases name=dc9 cidr=10.0.0.8", "POST /cluster/firewall/ipset name=adm",
			},
			"GET", "/nodes/pve1/lxc/200/firewall/refs", "", 200, "OK", nil,
			`[{"type":"ipset","name":"adm","ref":"+adm","scope":"dc"},{"type":"alias","name":"dc9","ref":"dc9","scope":"dc"},` +
				`{"type":"ipset","name":"web","ref":"+web","scope":"guest","comment":"w"},{"type":"alias","name":"srv9","ref":"srv9","scope":"guest"}]`,
		},
		"alias_of_one_letter_and_a_long_prefix": {
			nil, "POST", "/cluster/firewall/aliases", "name=u cidr=10.0.0.1/33", 400, verification,
			refused("cidr", "invalid format - Prefix length 33 is longer than IP address (32)\n", "name", "value does not match the regex pattern"), "",
		},
		"change_of_an_alias_of_one_letter": {
			nil, "PUT", "/cluster/firewall/aliases/c", "cidr=10.66.0.0/16", 400, verification, refused("name", "value does not match the regex pattern"), "",
		},
		"removal_of_an_alias_of_one_letter": {
			nil, "DELETE", "/cluster/firewall/aliases/c", "", 400, verification, refused("name", "value does not match the regex pattern"), "",
		},
		"set_with_a_removed_alias": {
			[]string{
				"POST /cluster/firewall/aliases name=office cidr=10.0.0.0/24", "POST /cluster/firewall/ipset name=adm",
				"POST /cluster/firewall/ipset/adm cidr=dc/office", "POST /cluster/firewall/ipset/adm cidr=office", "DELETE /cluster/firewall/aliases/office",
			},
			"GET", "/cluster/firewall/ipset/adm", "", 200, "OK", nil,
			`[{"cidr":"dc/office","errors":{"cidr":"no such alias 'office'"}},{"cidr":"office","errors":{"cidr":"no such alias 'office'"}}]`,
		},
		"rule_with_a_removed_alias": {
			[]string{
				"POST /nodes/pve1/qemu/100/firewall/aliases name=srv9 cidr=10.0.0.9", vmSource + "srv9 enable=0",
				"DELETE /nodes/pve1/qemu/100/firewall/aliases/srv9",
			},
			"GET", vmRulesPath + "/0", "", 200, "OK", nil,
			`{"action":"ACCEPT","enable":0,"source":"srv9","type":"in","errors":{"source":"no such alias 'srv9'"},"pos":"0"}`,
		},
		"word_as_schedule_of_a_job": {
			nil, "POST", "/cluster/backup", "id=j2 schedule=bogus all=1", 400, verification,
			refused("schedule", "invalid format - invalid calendar event 'bogus' - unable to parse calendar event - unexpected value\n\n"), "",
		},
		"word_as_schedule_of_a_replication": {
			nil, "POST", "/cluster/replication", "id=100-0 target=pve1 type=local schedule=bogus", 400, verification,
			refused("schedule", "invalid format - invalid calendar event 'bogus' - unable to parse calendar event - unexpected value\n\n"), "",
		},
		"notes_and_protection_without_storage": {
			nil, "POST", "/cluster/backup", "id=j6 schedule=daily all=1 notes-template={{guestname}} protected=1", 400, verification,
			refused("storage", `missing property required by 'notes-template'\nmissing property required by 'protected'`), "",
		},
		"notes_of_two_lines_without_storage": {
			nil, "POST", "/cluster/backup", "id=jf schedule=daily all=1 notes-template=a\nb", 400, verification,
			refused("storage", "missing property required by 'notes-template'"), "",
		},
		"managed_guest_without_number": {nil, "POST", "/cluster/ha/resources", "sid=vm:abc", 500, "invalid VMID", nil, ""},
		"managed_guest_with_a_group_of_one_letter": {
			nil, "POST", "/cluster/ha/resources", "sid=ct:200 group=g", 400, verification, refused("group", "invalid format - invalid configuration ID 'g'\n"), "",
		},
		"unknown_key_of_a_managed_guest": {
			managed, "PUT", "/cluster/ha/resources/vm:100", "delete=nosuch", 500, "update resources config failed: no such option 'nosuch'", nil, "",
		},
		"apart_and_together": {
			append(managed[:2:2], nodeRule, together), "POST", "/cluster/ha/rules",
			"rule=r3 type=resource-affinity resources=vm:100,ct:200 affinity=negative", 500,
			"create ha rule failed: 400 Rule 'r3' is invalid.\nresources: rule shares two or more resources with a positive resource affinity rule", nil, "",
		},
		"letter_as_priority_of_a_node": {
			managed, "POST", "/cluster/ha/rules", "rule=r6 type=node-affinity resources=ct:200 nodes=pve1:a", 400, verification,
			refused("oneOf[node-affinity].nodes", "invalid format - value does not look like a valid ha node\n"), "",
		},
		"placed_twice": {append(managed[:2:2], nodeRule), "POST", "/cluster/ha/rules", "rule=r8 type=node-affinity resources=vm:100 nodes=pve1", 500, twice, nil, ""},
		"placed_twice_and_together": {
			append(managed[:2:2], nodeRule, together), "POST", "/cluster/ha/rules", "rule=r8 type=node-affinity resources=vm:100 nodes=pve1", 500,
			twice + ", at least one resource is in a positive resource affinity rule and there are other resources in at least one other node affinity rule already", nil, "",
		},
		"pool_with_a_removed_storage": {pool, "DELETE", "/pools", "poolid=pa", 200, "OK", nil, "null"},
		"pool_removed_twice": {
			append(pool[:2:2], "DELETE /pools poolid=pa"), "DELETE", "/pools", "poolid=pa", 500, "delete pool failed: pool 'pa' does not exist", nil, "",
		},
		"unknown_content_of_a_download": {
			nil, "POST", "/nodes/pve1/storage/local/download-url", "url=http://127.0.0.1:1/x.iso content=foo filename=a.iso", 400, verification,
			refused("content", "invalid format - invalid content type 'foo'\n"), "",
		},
		"content_that_is_not_downloaded": {
			nil, "POST", "/nodes/pve1/storage/local/download-url", "url=http://127.0.0.1:1/x.iso content=backup filename=a.iso", 400, verification,
			refused("content", "value 'backup' does not have a value in the enumeration 'iso, vztmpl, import'"), "",
		},
		"feature_of_a_vm": {nil, "GET", vm100 + "/feature", "feature=snapshot", 200, "OK", nil, `{"hasFeature":1,"nodes":["pve1"]}`},
		"unknown_feature_of_a_vm": {
			nil, "GET", vm100 + "/feature", "feature=bogus", 400, verification,
			refused("feature", "value 'bogus' does not have a value in the enumeration 'snapshot, clone, copy'"), "",
		},
		"feature_of_a_container_in_a_directory": {nil, "GET", "/nodes/pve1/lxc/200/feature", "feature=snapshot", 200, "OK", nil, `{"hasFeature":0}`},
		"unknown_feature_of_a_container": {
			nil, "GET", "/nodes/pve1/lxc/200/feature", "feature=bogus", 400, verification,
			refused("feature", "value 'bogus' does not have a value in the enumeration 'snapshot, clone, copy'"), "",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{Nodes: []string{"pve1", "pve2"}, HADelay: -1}, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "memory: 64\nscsi0: local-lvm:1\n")
				if err := c.sim.AddVolume("local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst", 1<<20); err != nil {
					t.Fatal(err)
				}
				c.task("POST", "/nodes/pve1/lxc", "vmid=200", "ostemplate=local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst", "rootfs=local:0", "memory=64")
				for _, request := range test.before {
					words := strings.Fields(request)
					c.ok(words[0], words[1], words[2:]...)
				}
				got := c.call(test.method, test.path, splitParams(test.params)...)
				reason, detail, _ := strings.Cut(test.reason, "\n")
				checkReply(t, "reply", got, test.status, reason)
				if detail != "" && !strings.Contains(got.body, jsonText(t, detail)) {
					t.Errorf("got %s, want %q in it", got.body, detail)
				}
				if test.errors != nil {
					checkErrors(t, got.body, test.errors)
				}
				if test.data != "" {
					checkData(t, got.body, test.data)
				}
			})
		})
	}
}

// splitParams splits "a=b c=d". A value may hold a line feed, and no blank.
func splitParams(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, " ")
}

func jsonText(t *testing.T, text string) string {
	t.Helper()
	return strings.Trim(marshal(t, text), `"`)
}

func checkErrors(t *testing.T, body string, want map[string]string) {
	t.Helper()
	var got struct{ Errors map[string]string }
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if g, w := marshal(t, got.Errors), marshal(t, want); g != w {
		t.Errorf("got the errors %s, want %s", g, w)
	}
}

// checkData compares data without its digests.
func checkData(t *testing.T, body, want string) {
	t.Helper()
	var got, expected any
	if err := json.Unmarshal([]byte(body), &struct{ Data *any }{&got}); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &expected); err != nil {
		t.Fatal(err)
	}
	if g, w := marshal(t, withoutDigests(got)), marshal(t, expected); g != w {
		t.Errorf("got the data %s, want %s", g, w)
	}
}

func withoutDigests(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "digest")
	case []any:
		for _, e := range v {
			withoutDigests(e)
		}
	}
	return v
}

// TestContainerSnapshotNamedPending holds that a container's snapshot may have the name of a section of a VM's configuration, as Proxmox VE answered.
func TestContainerSnapshotNamedPending(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		if _, err := c.sim.AddCT(Guest{VMID: 200, Config: "memory: 64\nrootfs: local:1\n"}); err != nil {
			t.Fatal(err)
		}
		answer := c.ok(http.MethodPost, "/nodes/pve1/lxc/200/snapshot", "snapname=pending")
		var upid string
		if err := json.Unmarshal(answer.data(t), &upid); err != nil {
			t.Fatal(err)
		}
		if got := c.wait(upid); got != "snapshot feature is not available" {
			t.Errorf("got the task's end %q, want the refusal of a directory", got)
		}
	})
}

// TestOrderOfHARules holds that of the rules behind the first one, a new one may come before or behind the second, because both have the same order in
// the file.
func TestOrderOfHARules(t *testing.T) {
	orders := map[string]bool{}
	for seed := range uint64(20) {
		bubble(t, Options{HADelay: -1, Seed: seed}, func(t *testing.T, c *client) {
			for _, vmid := range []int{100, 101, 102} {
				addVM(t, c.sim, vmid, "memory: 64\n")
				c.ok("POST", "/cluster/ha/resources", "sid=vm:"+itoa(vmid))
				c.ok("POST", "/cluster/ha/rules", "rule=r"+itoa(vmid), "type=node-affinity", "resources=vm:"+itoa(vmid), "nodes=pve1")
			}
			var rules []struct{ Rule string }
			if err := json.Unmarshal(c.ok("GET", "/cluster/ha/rules").data(t), &rules); err != nil {
				t.Fatal(err)
			}
			orders[rules[0].Rule+" "+rules[1].Rule+" "+rules[2].Rule] = true
		})
	}
	for _, want := range []string{"r100 r101 r102", "r100 r102 r101"} {
		if !orders[want] || len(orders) != 2 {
			t.Errorf("got the orders %v, want both of r101 and r102", orders)
		}
	}
}
