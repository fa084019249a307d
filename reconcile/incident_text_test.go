package reconcile_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"gitops-agent/internal/pvesim"
)

// TestIncidentTagsAreRewrittenForever gives tags in every order and spelling to clusters that sort them, keep their case, or keep them as given.
// Tags are a set: the agent does not write them again because of their order.
func TestIncidentTagsAreRewrittenForever(t *testing.T) {
	t.Parallel()
	clusters := map[string]pvesim.Datacenter{
		"default":        {},
		"case_sensitive": {CaseSensitiveTags: true},
		"as_given":       {TagsAsGiven: true},
		"both":           {CaseSensitiveTags: true, TagsAsGiven: true},
	}
	for name, cluster := range clusters {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{Cluster: cluster}, func(t *testing.T, l *lab, w *wire) {
				l.files["web.yaml"] = vmYAML("web-1", 201, "tags: [web, Prod, a-1]")
				l.files["dns.yaml"] = dnsYAML("tags: [z, Dns, b]")
				l.push("tags", alice)
				defer l.start()()
				l.converge()
				w.wantNoWrites(t)
				for _, vmid := range []int{201, 210} {
					tags := strings.Split(l.sim.Value(vmid, "tags"), ";")
					if len(tags) != 4 {
						t.Fatalf("got tags %q of %d, want three and the marker", tags, vmid)
					}
					l.ok(l.sim.Edit(vmid, "tags", strings.ToUpper(tags[2])+";"+tags[0]+","+tags[3]+" "+tags[1]+";"+tags[0]))
				}
				w.wantNoWrites(t)
				l.files["web.yaml"] = vmYAML("web-1", 201, "tags: [a-1, prod, web]")
				l.files["dns.yaml"] = dnsYAML("tags: [b, z, dns]")
				l.push("the same tags", alice)
				l.converge()
				w.wantNoWrites(t)
				l.files["web.yaml"] = vmYAML("web-1", 201, "tags: [web, new]")
				l.push("others", alice)
				l.converge()
				if got := l.sim.Value(201, "tags"); !strings.Contains(got, "new") || strings.Contains(strings.ToLower(got), "prod") {
					t.Errorf("got tags %q, want new and no prod", got)
				}
			})
		})
	}
}

// TestIncidentEmptyValueReadsBackAsABlank removes values in every way that a manifest allows, and leaves the single space that Proxmox returns for
// an empty value. A space, an empty value and an absent key are the same.
func TestIncidentEmptyValueReadsBackAsABlank(t *testing.T) {
	t.Parallel()
	full := map[string]string{
		"description": "old", "tags": "old", "nameserver": "10.0.0.1", "searchdomain": "old.test", "ciuser": "old", "boot": "order=net0",
		"vga": "std", "ipconfig0": "ip=dhcp", "cicustom": "vendor=local:snippets/old.yaml", "hotplug": "disk",
	}
	tests := map[string][]string{
		"fields": {
			`description: ""`, "tags: []", `cloudInit: {dns: {servers: [], search: []}}`,
		},
		"raw": {
			`raw: {description: "", tags: "", nameserver: "", searchdomain: "", ciuser: "", vga: "", cicustom: "", ipconfig0: "", boot: ""}`,
		},
		"blank": {`raw: {nameserver: " ", searchdomain: " ", ciuser: " "}`, `description: " "`},
		"unset": {"unset: [description, nameserver, searchdomain, ciuser, vga, cicustom, ipconfig0, boot]"},
	}
	for name, lines := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.files["web.yaml"] = vmYAML("web-1", 201)
				l.push("a guest", alice)
				defer l.start()()
				l.converge()
				l.ok(l.sim.EditConfig(201, func(v map[string]string) {
					marker := v["tags"]
					maps.Copy(v, full)
					v["tags"] += ";" + marker
				}))
				l.files["web.yaml"] = vmYAML("web-1", 201, lines...)
				l.push("nothing in them", alice)
				l.converge()
				w.wantNoWrites(t)
				l.callAs("root@pam!full", http.MethodPut, "/nodes/pve1/qemu/201/config", "nameserver=&searchdomain=&ciuser=&vga=&cicustom=&ipconfig0=&boot=")
				if config := l.sim.Config(201); !strings.Contains(config, "nameserver:") || !strings.Contains(config, "vga:") {
					t.Fatalf("got config %q, want keys without a value in it", config)
				}
				w.wantNoWrites(t)
				if r := l.engine.Report(); !r.Converged || strings.Contains(l.sim.Value(201, "nameserver"), "10") {
					t.Errorf("got converged %t of config %q, want a guest whose name server is gone", r.Converged, l.sim.Config(201))
				}
			})
		})
	}
}
