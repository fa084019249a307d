package reconcile_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestIncidentVMIDIsReusedByAnotherGuest replaces an owned guest by another guest with the same vmid without the agent. The other guest differs in
// every way that can be detected: the agent does not change, stop or destroy it, with or without a manifest.
func TestIncidentVMIDIsReusedByAnotherGuest(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		vmid     int
		manifest string
		disguise string // the other guest's config; MARKER is the tag of the first guest
	}{
		"machine":                {201, vmYAML("web-1", 201, "memory: {size: 2Gi}", "state: stopped", "lifecycle: {destroy: allow}"), otherConfig},
		"machine_of_that_name":   {201, vmYAML("web-1", 201, "memory: {size: 2Gi}", "state: stopped", "lifecycle: {destroy: allow}"), "name: web-1\nmemory: 1024\n"},
		"machine_with_the_tag":   {201, vmYAML("web-1", 201, "memory: {size: 2Gi}", "state: stopped", "lifecycle: {destroy: allow}"), "name: web-1\ntags: MARKER\n"},
		"container":              {210, dnsYAML("memory: {size: 1Gi}", "state: stopped", "lifecycle: {destroy: allow}"), "hostname: dns-1\nmemory: 512\n"},
		"container_for_machine":  {201, vmYAML("web-1", 201, "memory: {size: 2Gi}", "state: stopped", "lifecycle: {destroy: allow}"), "hostname: web-1\ntags: MARKER\n"},
		"machine_for_container":  {210, dnsYAML("memory: {size: 1Gi}", "state: stopped", "lifecycle: {destroy: allow}"), "name: dns-1\ntags: MARKER\n"},
		"machine_with_adopt":     {201, vmYAML("web-1", 201, "adopt: ifUnmanaged", "memory: {size: 2Gi}", "state: stopped", "lifecycle: {destroy: allow}"), otherConfig},
		"container_of_the_adopt": {210, dnsYAML("adopt: ifUnmanaged", "memory: {size: 1Gi}", "state: stopped", "lifecycle: {destroy: allow}"), "hostname: dns-1\nmemory: 512\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.sim.Guard()
				l.files["keep.yaml"] = vmYAML("keep-1", 209)
				l.files["guest.yaml"] = test.manifest
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				marker := l.journal.State().Owned[test.vmid].Tag
				add := l.sim.AddVM
				if strings.HasPrefix(test.disguise, "hostname") {
					add = l.sim.AddCT
				}
				l.ok(l.sim.RemoveGuest(test.vmid))
				_, err := add(pvesim.Guest{VMID: test.vmid, Config: strings.Replace(test.disguise, "MARKER", marker, 1), Running: true})
				l.ok(err)
				config := l.sim.Config(test.vmid)
				l.waitForCondition(test.vmid, string(plan.IdentityConflict))
				w.wantNoWrites(t)
				delete(l.files, "guest.yaml")
				l.waitForAcceptance(l.push("remove it", alice))
				w.wantNoWrites(t)
				if got := l.sim.Config(test.vmid); got != config || !l.sim.Running(test.vmid) {
					t.Errorf("got %q, running %t, want %q untouched", got, l.sim.Running(test.vmid), config)
				}
				if v := l.sim.Violations(); len(v) != 0 {
					t.Errorf("got violations %v, want none", v)
				}
			})
		})
	}
}

// callAs sends one write to the simulator as a user with an own token.
func (l *lab) callAs(token, method, path, form string) {
	l.Helper()
	r, err := http.NewRequestWithContext(l.Context(), method, "https://pve1.lab.test:8006/api2/json"+path, strings.NewReader(form))
	l.ok(err)
	r.Header.Set("Authorization", "PVEAPIToken="+l.sim.Token(token))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := l.sim.Transport().RoundTrip(r)
	l.ok(err)
	l.ok(res.Body.Close())
	if res.StatusCode != http.StatusOK {
		l.Fatalf("%s %s: got %s, want success", method, path, res.Status)
	}
}

// TestIncidentManualCloneHasTheMarker clones a managed guest as a user, with its marker and everything else. The marker does not fit the vmid of
// the copy: the copy is unmanaged, cannot be adopted by mistake, and still exists after the original is destroyed.
func TestIncidentManualCloneHasTheMarker(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kind, manifest string
		vmid           int
	}{
		"machine":   {"qemu", vmYAML("web-1", 201, "memory: {size: 2Gi}", "lifecycle: {destroy: allow}"), 201},
		"container": {"lxc", dnsYAML("memory: {size: 1Gi}", "lifecycle: {destroy: allow}"), 210},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.sim.Guard()
				l.files["keep.yaml"] = vmYAML("keep-1", 209)
				l.files["guest.yaml"] = test.manifest
				l.push("a guest", alice)
				defer l.start()()
				l.converge()
				marker := l.journal.State().Owned[test.vmid].Tag
				l.callAs("root@pam!full", http.MethodPost, fmt.Sprintf("/nodes/pve1/%s/%d/clone", test.kind, test.vmid), "newid=250&full=1")
				eventually(l, "the copy", func() bool { return strings.Contains(l.sim.Value(250, "tags"), marker) })
				copied := l.sim.Config(250)
				eventually(l, "the copy among the unmanaged guests", func() bool {
					unmanaged := l.engine.Report().Unmanaged
					return len(unmanaged) == 1 && unmanaged[0].VMID == 250
				})
				l.waitForCondition(test.vmid, "copied", "250", marker)
				if r := l.engine.Report(); !r.Converged || l.guest(r, test.vmid).Health != report.Healthy {
					t.Errorf("got converged %t and %+v, want only the copy reported", r.Converged, l.guest(r, test.vmid))
				}
				w.wantNoWrites(t)
				// A manifest for the copy does not take over a guest with a marker, also with adopt.
				adopting := strings.NewReplacer("web-1", "copy-1", "dns-1", "copy-1", fmt.Sprintf("vmid: %d", test.vmid), "vmid: 250",
					"  memory:", "  adopt: ifUnmanaged\n  memory:").Replace(test.manifest)
				for _, manifest := range []string{strings.Replace(adopting, "adopt: ifUnmanaged", "adopt: deny", 1), adopting} {
					l.files["copy.yaml"] = manifest
					l.waitForAcceptance(l.push("the copy", alice))
					l.waitForCondition(250, string(plan.IdentityConflict))
					w.wantNoWrites(t)
				}
				if g := l.guest(l.engine.Report(), 250); !strings.Contains(fmt.Sprint(g.Conditions), marker) {
					t.Errorf("got %+v, want the marker %s reported", g.Conditions, marker)
				}
				delete(l.files, "copy.yaml")
				delete(l.files, "guest.yaml")
				l.sim.AnnounceDestroy(test.vmid, marker)
				l.push("the original goes", alice)
				eventually(l, "its end", func() bool { return l.sim.Effects(test.vmid, pvesim.Destroyed) == 1 })
				l.converge()
				w.wantNoWrites(t)
				if got := l.sim.Config(250); got != copied || len(l.sim.Violations()) != 0 {
					t.Errorf("got %q with %v, want the copy untouched: %q", got, l.sim.Violations(), copied)
				}
			})
		})
	}
}

// TestIncidentPartlyCreatedGuestIsChanged leaves guests partly created: by a worker that is killed, and by another client. The agent reports them,
// and does not configure, start, adopt, create or destroy them.
func TestIncidentPartlyCreatedGuestIsChanged(t *testing.T) {
	t.Parallel()
	adopting := vmYAML("web-1", 201, "adopt: ifUnmanaged", "memory: {size: 2Gi}", "state: running", "lifecycle: {destroy: allow}")
	tests := map[string]struct {
		vmid     int
		tool     string // the command that unlocks it on its node
		manifest string
		fault    pvesim.Fault
		found    string // the config of a partly created guest that exists before
	}{
		"clone_of_a_dead_worker": {
			201, "qm", vmYAML("web-1", 201, "memory: {size: 2Gi}", "state: running", "lifecycle: {destroy: allow}"),
			pvesim.Fault{Path: "/clone$", Kind: pvesim.TaskKilled},
			"",
		},
		"create_of_a_dead_worker": {
			210, "pct", dnsYAML("memory: {size: 1Gi}", "state: running", "lifecycle: {destroy: allow}"),
			pvesim.Fault{Path: "/lxc$", Kind: pvesim.TaskKilled},
			"",
		},
		"other_client_create": {201, "qm", adopting, pvesim.Fault{}, "lock: create\n"},
		"other_client_clone":  {201, "qm", adopting, pvesim.Fault{}, "lock: clone\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.sim.Guard()
				l.files["keep.yaml"] = vmYAML("keep-1", 209)
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				if test.found != "" {
					_, err := l.sim.AddVM(pvesim.Guest{VMID: test.vmid, Config: test.found})
					l.ok(err)
				} else {
					test.fault.Method = "POST"
					l.ok(l.sim.Inject(test.fault))
				}
				l.files["guest.yaml"] = test.manifest
				l.waitForAcceptance(l.push("another one", alice))
				l.waitForCondition(test.vmid, string(reason.Locked))
				partial := l.sim.Config(test.vmid)
				if !strings.Contains(partial, "lock: c") {
					t.Fatalf("got config %q, want a partly created guest", partial)
				}
				w.wantNoWrites(t)
				r := l.engine.Report()
				g, unlock := l.guest(r, test.vmid), fmt.Sprintf("%s unlock %d", test.tool, test.vmid)
				if r.Converged || g.Health != report.Degraded || !strings.Contains(fmt.Sprint(g.Conditions), unlock) {
					t.Errorf("got %+v, want a guest that is degraded, and the remedy %s", g, unlock)
				}
				delete(l.files, "guest.yaml")
				l.waitForAcceptance(l.push("never mind", alice))
				time.Sleep(time.Minute)
				w.wantNoWrites(t)
				if got := l.sim.Config(test.vmid); got != partial || len(l.sim.Violations()) != 0 {
					t.Errorf("got %q with %v, want %q", got, l.sim.Violations(), partial)
				}
			})
		})
	}
}

// TestIncidentAgentChangesTheUUIDOfItsGuest sets another SMBIOS uuid in the manifest of a guest that the agent made, and another memory size. The
// uuid identifies the guest, so only the memory changes.
func TestIncidentAgentChangesTheUUIDOfItsGuest(t *testing.T) {
	t.Parallel()
	const other = "11111111-2222-4333-8444-555555555555"
	for name, raw := range map[string]string{"another": `"uuid=` + other + `,serial=A1"`, "at_creation": `"uuid=` + other + `"`} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = vmYAML("web-1", 203)
				if name == "at_creation" {
					l.files["web.yaml"] = vmYAML("web-1", 203, "raw: {smbios1: "+raw+"}")
				}
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				made := l.sim.Value(203, "smbios1")
				l.files["web.yaml"] = vmYAML("web-1", 203, "memory: {size: 3Gi}", "raw: {smbios1: "+raw+"}")
				l.waitForAcceptance(l.push("a uuid", alice))
				eventually(t, "the memory", func() bool { return l.sim.Value(203, "memory") == "3072" })
				if name == "at_creation" {
					if l.converge(); !strings.Contains(made, other) {
						t.Errorf("got smbios1 %q, want the manifest's uuid from the start", made)
					}
					return
				}
				l.remains(203, "the uuid impossible", func(g report.Guest) bool { return hasCondition(g, plan.Blocked, reason.Impossible) })
				if got := l.sim.Value(203, "smbios1"); got != made {
					t.Errorf("got smbios1 %q, want %q", got, made)
				}
				l.ok(l.sim.Edit(203, "smbios1", "uuid="+other))
				eventually(t, "the report that it is another guest", func() bool {
					return hasCondition(l.guest(l.engine.Report(), 203), plan.IdentityConflict, reason.DifferentGuest)
				})
				known := l.journal.State().Owned[203]
				for _, c := range l.guest(l.engine.Report(), 203).Conditions {
					if c.Type == plan.IdentityConflict && (!strings.Contains(c.Hint, "SMBIOS uuid "+known.UUID) || strings.Contains(c.Hint, known.Tag)) {
						t.Errorf("got hint %q, want it to ask for the uuid %s, and not for the tag, which is present", c.Hint, known.UUID)
					}
				}
				l.ok(l.sim.Edit(203, "smbios1", made))
				l.files["web.yaml"] = vmYAML("web-1", 203, "memory: {size: 3Gi}")
				l.push("no uuid", alice)
				l.converge()
			})
		})
	}
}
