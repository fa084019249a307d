package reconcile_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
)

// TestIncidentMachineWithoutUUIDIsMistakenForAnother creates a virtual machine whose manifest names SMBIOS fields and no uuid. Proxmox adds no uuid
// then. A user destroys the machine, and another one gets its vmid: the agent recognizes that it is not its own.
func TestIncidentMachineWithoutUUIDIsMistakenForAnother(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		lines []string
		older bool // the record is from an older release, which created the machine without a uuid
	}{
		"fields":       {[]string{"smbios: {manufacturer: Acme, serial: \"42\"}"}, false},
		"raw":          {[]string{"raw: {smbios1: \"manufacturer=QWNtZQ==,base64=1\"}"}, false},
		"no_fields":    {nil, false},
		"older_record": {[]string{"smbios: {manufacturer: Acme}"}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.files["web.yaml"] = blankYAML(append(test.lines, "memory: {size: 2Gi}", "lifecycle: {destroy: allow, recreate: deny}")...)
				l.files["keep.yaml"] = vmYAML("keep-1", 209)
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				if test.older {
					owned := l.journal.State().Owned[201]
					owned.UUID = ""
					l.ok(l.journal.Append(t.Context(), owned))
					l.ok(l.sim.Edit(201, "smbios1", "manufacturer=Acme"))
					l.ok(l.sim.Edit(201, "memory", "4096"))
					eventually(t, "the repair", func() bool { return l.sim.Value(201, "memory") == "2048" })
					l.converge()
				} else if owned := l.journal.State().Owned[201]; !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(owned.UUID) ||
					!strings.Contains(l.sim.Value(201, "smbios1"), "uuid="+owned.UUID) || owned.Claiming {
					t.Errorf("got record %+v of a machine with smbios1 %q, want its uuid in the record", owned, l.sim.Value(201, "smbios1"))
				}
				l.ok(l.sim.RemoveGuest(201))
				_, err := l.sim.AddVM(pvesim.Guest{VMID: 201, Config: "name: dave\nmemory: 512\n", Running: true})
				l.ok(err)
				config := l.sim.Config(201)
				w.reset()
				l.waitForCondition(201, string(plan.IdentityConflict))
				delete(l.files, "web.yaml")
				l.waitForAcceptance(l.push("remove it", alice))
				time.Sleep(10 * time.Minute)
				w.wantNoWrites(t)
				if got := l.sim.Config(201); got != config || !l.sim.Running(201) {
					t.Errorf("got %q, running %t, want %q untouched", got, l.sim.Running(201), config)
				}
			})
		})
	}
}

// TestUUIDOfAManifestIsKept creates machines whose manifests name a uuid, and a clone: the agent sends no uuid of its own.
func TestUUIDOfAManifestIsKept(t *testing.T) {
	const wanted = "11111111-2222-4333-8444-555555555555"
	runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
		l.files["web.yaml"] = blankYAML("raw: {smbios1: \"uuid=" + wanted + ",serial=A1\"}")
		l.files["db.yaml"] = vmYAML("db-1", 202)
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		owned := l.journal.State().Owned
		if got := owned[201].UUID; got != wanted {
			t.Errorf("got uuid %q in the record, want that of the manifest", got)
		}
		if got := owned[202].UUID; got == "" || !strings.Contains(l.sim.Value(202, "smbios1"), got) {
			t.Errorf("got uuid %q in the record of the clone, want that of %q", got, l.sim.Value(202, "smbios1"))
		}
		for _, s := range w.sent {
			if strings.HasSuffix(s.path, "/clone") && s.params["smbios1"] != "" {
				t.Errorf("got a clone call with smbios1 %q, want none: Proxmox does not accept it", s.params["smbios1"])
			}
		}
	})
}
