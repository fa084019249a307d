package reconcile_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

const mailConfig = "name: mail-0\nmemory: 512\nscsi0: local-lvm:vm-1000-disk-0,size=4G"

// wandaMay returns wanda, who may change only the web servers, with further limits.
func wandaMay(vmids, sources []string) verify.Signer {
	return verify.Signer{
		Name: "wanda", Issuer: wanda.Issuer, Subject: wanda.Subject, May: []verify.Role{verify.RoleChange},
		Guests: []string{"VirtualMachine/web-*", "Container/web-*"}, VMIDs: vmids, Sources: sources,
	}
}

func (l *lab) trustWanda(vmids, sources []string) {
	l.trustSigners(aliceMay(), wandaMay(vmids, sources), verify.Signer{Name: "olga", Issuer: olga.Issuer, Subject: olga.Subject, May: approveOnly})
}

// addMail adds the unmanaged guest mail-0, and a volume of it that no slot uses.
func (l *lab) addMail() {
	l.Helper()
	_, err := l.sim.AddVM(pvesim.Guest{VMID: 1000, Config: mailConfig, Running: true})
	l.ok(err)
	for _, volume := range []string{"local-lvm:vm-1000-disk-7", "local-lvm:vm-250-disk-7", "local:1000/vm-205-disk-7.qcow2"} {
		l.ok(l.sim.AddVolume(volume, 4<<30))
	}
	l.sim.ResetCounters()
}

// calledFor reports whether a call changed mail-0 or one of its volumes.
func (l *lab) calledFor(vmid int) bool {
	counters := l.sim.Counters()
	return len(counters.Effects[vmid]) > 0
}

// heldFor returns the held step of a label with the reason.
func (l *lab) heldFor(label string, reason reason.Name) (report.HeldStep, bool) {
	for _, g := range l.engine.Report().Guests {
		if g.Label() != label {
			continue
		}
		for _, h := range g.Held {
			if h.Reason == reason {
				return h, true
			}
		}
	}
	return report.HeldStep{}, false
}

// unnumbered returns the manifest without its vmid, which the agent then assigns.
func unnumbered(manifest string) string {
	before, after, _ := strings.Cut(manifest, "  vmid: ")
	_, after, _ = strings.Cut(after, "\n")
	return before + after
}

func withSource(manifest, source string) string {
	return strings.Replace(manifest, "source: {clone: {name: tmpl-debian-12}}", "source: "+source, 1)
}

// TestIncidentNamesWidenAScope attacks mail-0, which the source did not create, as wanda, who may change only web servers: by a vmid, a volume, an
// image, a clone, a backup, a path of the node. The step is held, the rest of the revision is applied, and mail-0 is not touched.
func TestIncidentNamesWidenAScope(t *testing.T) {
	t.Parallel()
	machine := "VirtualMachine/web-9"
	web9 := unnumbered(vmYAML("web-9", 209))
	disk := func(volume string) string {
		return web9 + indented([]string{"disks: {scsi1: {volume: \"" + volume + "\"}}"})
	}
	tests := map[string]struct {
		manifest string
		label    string
		field    string // that wanda wrote
		touches  string
	}{
		"adopt":           {vmYAML("web-9", 1000, "adopt: ifUnmanaged"), machine, "spec.vmid", "vmid 1000, which the source did not create"},
		"leftover":        {vmYAML("web-9", 250, "disks: {scsi1: {volume: \"local-lvm:vm-250-disk-7\"}}"), machine, "scsi1", "local-lvm:vm-250-disk-7, which belongs to vmid 250"},
		"restore_earlier": {withSource(vmYAML("web-9", 250), `{backup: {volume: "pbs:backup/vm/250/2026-01-01T00:00:00Z", storage: local}}`), machine, "spec.source", "pbs:backup/vm/250"},
		"attach":          {disk("local-lvm:vm-1000-disk-7"), machine, "scsi1", "local-lvm:vm-1000-disk-7, which belongs to vmid 1000"},
		"attach_by_name":  {disk("local:1000/vm-205-disk-7.qcow2"), machine, "scsi1", "local:1000/vm-205-disk-7.qcow2, which belongs to vmid 205 and 1000"},
		"import":          {withSource(web9, `{image: {from: "local-lvm:vm-1000-disk-7"}}`) + indented([]string{"disks: {scsi0: {storage: local-lvm, size: 4Gi}}"}), machine, "spec.source", "local-lvm:vm-1000-disk-7"},
		"clone":           {withSource(web9, "{clone: {template: 1000}}"), machine, "spec.source", "vmid 1000, which the source did not create and is not a template"},
		"restore":         {withSource(web9, `{backup: {volume: "local:backup/vzdump-qemu-1000-2026_01_01-00_00_00.vma.zst", storage: local}}`), machine, "spec.source", "vzdump-qemu-1000"},
		"restore_pbs":     {withSource(web9, `{backup: {volume: "pbs:backup/vm/1000/2026-01-01T00:00:00Z", storage: local}}`), machine, "spec.source", "pbs:backup/vm/1000"},
		"unnamed_volume":  {disk("local-lvm:mail-data"), machine, "scsi1", "local-lvm:mail-data"},
		"class_of_others": {web9 + indented([]string{"class: attached"}), machine, "scsi1", "local-lvm:vm-1000-disk-7"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.rareTicks()
				l.trustWanda(nil, nil)
				l.addMail()
				l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 1Gi}")
				if strings.Contains(test.manifest, "class:") {
					l.files["class.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: attached}\nspec:\n" +
						"  virtualMachine: {disks: {scsi1: {volume: \"local-lvm:vm-1000-disk-7\"}}}\n"
				}
				l.push("one guest", alice)
				stop := l.start()
				defer func() { stop() }()
				l.converge()
				l.files["web.yaml"], l.files["web-9.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}"), test.manifest
				l.waitForAcceptance(l.push("attack", wanda))
				for range 2 {
					eventually(l, "the hold", func() bool { _, held := l.heldFor(test.label, reason.Scope); return held })
					eventually(l, "the rest of the revision", func() bool { return l.sim.Value(201, "memory") == "2048" })
					time.Sleep(10 * time.Minute)
					h, held := l.heldFor(test.label, reason.Scope)
					if !held || !strings.Contains(h.Message, "signer wanda wrote "+test.field+" in commit "+l.repo.Tip[:7]) || !strings.Contains(h.Message, test.touches) {
						t.Errorf("got %q (held %t), want wanda's %s held because of %s", h.Message, held, test.field, test.touches)
					}
					if l.calledFor(1000) {
						t.Errorf("got %v on mail-0, want nothing", l.sim.Counters().Effects[1000])
					}
					stop() // the journal remembers who wrote the field
					stop = l.start()
				}
			})
		})
	}
}

// TestIncidentRelabelledGuestEscapesItsGuards takes over mail-1, which the source created, after alice removed its manifest: wanda gives its vmid to
// web-9 with destroy: allow, and then removes web-9. The guest keeps its record, its configuration and its guards.
func TestIncidentRelabelledGuestEscapesItsGuards(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.trustWanda(nil, nil)
		l.files["web.yaml"], l.files["mail.yaml"] = vmYAML("web-1", 201), vmYAML("mail-1", 220, "memory: {size: 1Gi}")
		l.push("two guests", alice)
		stop := l.start()
		defer func() { stop() }()
		l.converge()
		delete(l.files, "mail.yaml")
		l.push("remove mail-1", alice)
		l.digestOfHold(220)
		l.sim.ResetCounters()
		l.files["web-9.yaml"] = vmYAML("web-9", 220, "memory: {size: 2Gi}", "lifecycle: {destroy: allow}")
		l.waitForAcceptance(l.push("take it over", wanda))
		eventually(l, "the hold", func() bool { _, held := l.heldFor("VirtualMachine/web-9", reason.Scope); return held })
		stop()
		stop = l.start()
		time.Sleep(10 * time.Minute)
		h, _ := l.heldFor("VirtualMachine/web-9", reason.Scope)
		if want := "vmid 220, which belongs to VirtualMachine/mail-1"; !strings.Contains(h.Message, want) {
			t.Errorf("got %q, want %q in it", h.Message, want)
		}
		state := l.journal.State()
		if state.Owned[220].Name != "mail-1" || state.Guarded[220].Destroy != "approve" {
			t.Errorf("got the record %+v and the guards %+v, want those of mail-1", state.Owned[220], state.Guarded[220])
		}
		delete(l.files, "web-9.yaml")
		l.waitForAcceptance(l.push("remove it", wanda))
		l.digestOfHold(220)
		time.Sleep(10 * time.Minute)
		if l.calledFor(220) {
			t.Errorf("got %v on mail-1, want nothing", l.sim.Counters().Effects[220])
		}
	})
}

// TestIncidentScopedSignerSwapsVMIDs exchanges the vmids of two guests within the scope, which is allowed, and takes the vmid of a guest outside of
// it, which is refused while the other manifest exists.
func TestScopeAllowsWhatIsTheSigners(t *testing.T) {
	t.Parallel()
	web9 := unnumbered(vmYAML("web-9", 209))
	tests := map[string]struct {
		vmids, sources []string
		manifest       string
		created        bool
		held           reason.Name
	}{
		"adopt":                  {vmids: []string{"990-1000"}, manifest: vmYAML("web-9", 1000, "adopt: ifUnmanaged", "description: adopted")},
		"free_vmid":              {manifest: vmYAML("web-9", 250), created: true},
		"leftover_by_vmids":      {vmids: []string{"250"}, manifest: vmYAML("web-9", 250, "disks: {scsi1: {volume: \"local-lvm:vm-250-disk-7\"}}"), created: true},
		"assigned_vmid":          {manifest: web9, created: true},
		"template":               {manifest: web9, created: true},
		"listed_template":        {sources: []string{"9000"}, manifest: web9, created: true},
		"template_by_name":       {sources: []string{"VirtualMachine/tmpl-*"}, manifest: web9, created: true},
		"template_not_listed":    {sources: []string{"9001", "VirtualMachine/other"}, manifest: web9, held: reason.Scope},
		"guest_listed_by_name":   {sources: []string{"VirtualMachine/mail-*"}, manifest: withSource(web9, "{clone: {template: 1000}}"), held: reason.Scope},
		"guest_listed":           {sources: []string{"1000"}, manifest: withSource(web9, "{clone: {template: 1000, full: true}}"), created: true},
		"guest_by_vmids":         {vmids: []string{"1000"}, manifest: withSource(web9, "{clone: {template: 1000, full: true}}"), created: true},
		"own_guest":              {manifest: withSource(web9, "{clone: {template: 202, full: true}}"), created: true},
		"attach_by_vmids":        {vmids: []string{"1000"}, manifest: web9 + indented([]string{`disks: {scsi1: {volume: "local-lvm:vm-1000-disk-7"}}`}), created: true},
		"image":                  {manifest: withSource(web9, `{image: {from: "local:import/debian-12-genericcloud-amd64.qcow2"}}`) + indented([]string{"disks: {scsi0: {storage: local-lvm, size: 4Gi}}"}), created: true},
		"image_not_listed":       {sources: []string{"local:import/other*"}, manifest: withSource(web9, `{image: {from: "local:import/debian-12-genericcloud-amd64.qcow2"}}`) + indented([]string{"disks: {scsi0: {storage: local-lvm, size: 4Gi}}"}), held: reason.Scope},
		"image_listed":           {sources: []string{"local:import/debian*"}, manifest: withSource(web9, `{image: {from: "local:import/debian-12-genericcloud-amd64.qcow2"}}`) + indented([]string{"disks: {scsi0: {storage: local-lvm, size: 4Gi}}"}), created: true},
		"new_disks":              {manifest: web9 + indented([]string{"disks: {scsi1: {storage: local-lvm, size: 4Gi}}", "cloudInit: {storage: local, user: ops}"}), created: true},
		"attach_needs_own_vmids": {vmids: []string{"1001"}, manifest: web9 + indented([]string{`disks: {scsi1: {volume: "local-lvm:vm-1000-disk-7"}}`}), held: reason.Scope},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.trustWanda(test.vmids, test.sources)
				l.addMail()
				l.files["web.yaml"], l.files["web-2.yaml"] = vmYAML("web-1", 201), vmYAML("web-2", 202)
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				l.files["web-9.yaml"] = test.manifest
				l.push("another guest", wanda)
				if test.held != "" {
					eventually(l, "the hold", func() bool { _, held := l.heldFor("VirtualMachine/web-9", test.held); return held })
					return
				}
				l.converge()
				if created := len(l.sim.Guests()) == 5; created != test.created {
					t.Errorf("got %+v, want a new guest %t", l.sim.Guests(), test.created)
				}
			})
		})
	}
}

// TestIncidentTemplateIsReplacedBeforeItsClone lets a clone wait for a write slot. Wanda may clone every template, and nothing else that the source did not
// create. If the guest is no longer a template, or another guest has its vmid, nothing is cloned, and the step is held.
func TestIncidentTemplateIsReplacedBeforeItsClone(t *testing.T) {
	t.Parallel()
	replaceBy := func(add func(*pvesim.Sim, pvesim.Guest) (int, error), name string) func(*lab) {
		return func(l *lab) {
			l.ok(l.sim.RemoveGuest(9000))
			_, err := add(l.sim, pvesim.Guest{VMID: 9000, Config: "name: " + name + "\nmemory: 512\nscsi0: local-lvm:vm-9000-disk-7,size=1G\n"})
			l.ok(err)
		}
	}
	noTemplate := func(l *lab) { l.ok(l.sim.Edit(9000, "template", "")) }
	byName := []string{"VirtualMachine/tmpl-*"}
	tests := map[string]struct {
		sources   []string
		meanwhile func(l *lab)
		cloned    bool
	}{
		"nothing_happens":                    {nil, func(*lab) {}, true},
		"another_guest_has_the_vmid":         {nil, replaceBy((*pvesim.Sim).AddVM, "tmpl-debian-12"), false},
		"another_template_has_the_vmid":      {nil, replaceBy((*pvesim.Sim).AddTemplate, "golden"), true},
		"it_is_no_template_any_more":         {nil, noTemplate, false},
		"by_name_nothing_happens":            {byName, func(*lab) {}, true},
		"by_name_another_template":           {byName, replaceBy((*pvesim.Sim).AddTemplate, "golden"), false},
		"by_name_it_is_no_template_any_more": {byName, noTemplate, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.trustWanda(nil, test.sources)
				log := l.recordWrites(nil)
				l.addBusyGuests()
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				l.occupyWriteSlots()
				l.files["web-9.yaml"] = withSource(vmYAML("web-9", 209), "{clone: {template: 9000}}")
				l.pollNow(l.push("a clone", wanda))
				l.waitForWaitingCall(209)
				before := log.count()
				test.meanwhile(l)
				l.freeWriteSlots()
				if test.cloned {
					l.converge()
				} else {
					eventually(l, "the hold", func() bool { _, held := l.heldFor("VirtualMachine/web-9", reason.Scope); return held })
					time.Sleep(10 * time.Minute)
				}
				if sent := log.matching(before, regexp.MustCompile("/9000/clone$")); (len(sent) > 0) != test.cloned {
					t.Errorf("got %q sent, want a clone: %t", sent, test.cloned)
				}
			})
		})
	}
}

// TestScopeEndsWithTheRemedy holds an adoption, and releases it by each of the remedies that the hold names: another signer writes the field again, or
// the signer's entry gets the vmid. The adopted guest then stays managed, also if the limit becomes narrower.
func TestScopeEndsWithTheRemedy(t *testing.T) {
	t.Parallel()
	adopt := vmYAML("web-9", 1000, "adopt: ifUnmanaged", "description: adopted")
	remedies := map[string]func(l *lab){
		"written_again": func(l *lab) {
			delete(l.files, "web-9.yaml")
			l.push("remove it", alice)
			l.files["web-9.yaml"] = adopt
			l.push("write it again", alice)
		},
		"vmids": func(l *lab) { l.trustWanda([]string{"1000"}, nil) },
		"limit_is_lifted": func(l *lab) {
			free := wandaMay(nil, nil)
			free.Guests = nil
			l.trustSigners(aliceMay(), free)
		},
	}
	for name, remedy := range remedies {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.trustWanda(nil, nil)
				l.addMail()
				l.push("no guest", alice)
				stop := l.start()
				defer func() { stop() }()
				l.converge()
				l.files["web-9.yaml"] = adopt
				l.push("adopt", wanda)
				eventually(l, "the hold", func() bool { _, held := l.heldFor("VirtualMachine/web-9", reason.Scope); return held })
				l.cure(reason.ExtendSigner, l.saysOf("VirtualMachine/web-9"), func([]string) {
					stop()
					remedy(l)
					stop = l.start()
				})
				l.converge()
				if got := l.sim.Value(1000, "description"); got != "adopted" {
					t.Errorf("got description %q, want the guest adopted", got)
				}
				stop()
				l.trustWanda(nil, nil)
				stop = l.start()
				l.ok(l.sim.Edit(1000, "description", "edited"))
				eventually(l, "the repair", func() bool { return l.sim.Value(1000, "description") == "adopted" })
			})
		})
	}
}
