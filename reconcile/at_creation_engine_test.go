package reconcile_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

const (
	keyOfAnn = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMEXsBt6JGhURlK36Rj2dZ3oVIHElPKYsEQc2G4E2+QK ann@home"
	keyOfBob = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILEXsBt6JGhURlK36Rj2dZ3oVIHElPKYsEQc2G4E2+QK bob@home"
)

// blankOf is the manifest of a virtual machine that is not cloned, web-1 with vmid 201.
func blankOf(lines ...string) string {
	return strings.Replace(vmYAML("web-1", 201, lines...), "{clone: {name: tmpl-debian-12}}", "{blank: {}}", 1)
}

// writtenOnce are edits of each field that is used at creation only, by the path of the field in docs/manifests.md.
var writtenOnce = map[string]struct {
	vmid     int
	was, now string
	kind     plan.ConditionType
	ignore   string // the field for ignoreFields; "" if the condition shows a difference that can be read
}{
	"source": {201, vmYAML("web-1", 201), strings.Replace(vmYAML("web-1", 201), "tmpl-debian-12", "tmpl-debian-13", 1), plan.Warned, "source"},
	"firmware.efi.type": {
		201, blankOf("firmware: {bios: ovmf, efi: {storage: local, type: 4m}}"), blankOf("firmware: {bios: ovmf, efi: {storage: local, type: 2m}}"), plan.Blocked, "",
	},
	"firmware.efi.secureBoot": {
		201, blankOf("firmware: {bios: ovmf, efi: {storage: local, type: 4m, secureBoot: false}}"), blankOf("firmware: {bios: ovmf, efi: {storage: local, type: 4m, secureBoot: true}}"), plan.Blocked, "",
	},
	"firmware.tpm.version": {
		201, blankOf("firmware: {tpm: {storage: local, version: v1.2}}"), blankOf("firmware: {tpm: {storage: local, version: v2.0}}"), plan.Blocked, "",
	},
	"disks.SLOT.format": {
		201, blankOf("disks: {scsi0: {storage: local, size: 4Gi, format: qcow2}}"), blankOf("disks: {scsi0: {storage: local, size: 4Gi, format: raw}}"), plan.Warned, "disks.scsi0.format",
	},
	"unprivileged": {210, dnsYAML("unprivileged: true"), dnsYAML("unprivileged: false"), plan.Blocked, ""},
	"passwordFrom": {210, dnsYAML("passwordFrom: {file: web}"), dnsYAML("passwordFrom: {file: new}"), plan.Warned, "passwordFrom"},
	"sshKeys":      {210, dnsYAML(`sshKeys: ["` + keyOfAnn + `", "` + keyOfBob + `"]`), dnsYAML(`sshKeys: ["` + keyOfBob + `"]`), plan.Warned, "sshKeys"},
}

// TestEditOfWhatIsWrittenOnce edits each field that is used at creation only. The guest has a condition, after a restart of the agent too, until the edit is
// undone or the manifest lists the field under ignoreFields. It stays away when that entry goes again.
func TestEditOfWhatIsWrittenOnce(t *testing.T) {
	t.Parallel()
	for field, test := range writtenOnce {
		t.Run(field, func(t *testing.T) {
			runLabWithSecrets(t, func(t *testing.T, l *lab, s *secretStore) {
				s.contents["new"] = "another one"
				told := func() bool {
					return hasCondition(l.guest(l.engine.Report(), test.vmid), test.kind, reason.Impossible)
				}
				push := func(text string) {
					l.files["guest.yaml"] = text
					id := l.push("an edit", alice)
					eventually(t, "the edit", func() bool { return l.engine.Report().Source.Accepted.Commit == id })
					time.Sleep(2 * time.Minute)
				}
				l.files["guest.yaml"] = test.was
				l.push("a guest", alice)
				stop := l.start()
				defer func() { stop() }()
				l.converge()
				time.Sleep(2 * time.Minute)
				if told() {
					t.Fatalf("got %+v for a new guest, want no such condition", l.guest(l.engine.Report(), test.vmid).Conditions)
				}
				push(test.now)
				stop()
				stop = l.start()
				eventually(t, "the condition", func() bool { return len(l.engine.Report().Guests) > 0 && told() })
				push(test.was)
				if told() {
					t.Errorf("got %+v after the edit was undone, want no such condition", l.guest(l.engine.Report(), test.vmid).Conditions)
				}
				if test.ignore == "" {
					return
				}
				push(test.now)
				push(test.now + "  ignoreFields: [" + test.ignore + "]\n")
				if told() {
					t.Errorf("got %+v with ignoreFields, want no such condition", l.guest(l.engine.Report(), test.vmid).Conditions)
				}
				push(test.now)
				if told() {
					t.Errorf("got %+v after ignoreFields, want the guest taken as it was", l.guest(l.engine.Report(), test.vmid).Conditions)
				}
				push(test.was)
				if !told() {
					t.Error("got no condition for a later edit, want one")
				}
				if created := l.sim.Effects(test.vmid, pvesim.Created) + l.sim.Effects(test.vmid, pvesim.Cloned); created != 1 {
					t.Errorf("got the guest created %d times, want once", created)
				}
			})
		})
	}
}

// TestEachFieldThatIsWrittenOnceIsTried compares the table with the manual.
func TestEachFieldThatIsWrittenOnceIsTried(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../docs/manifests.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]*(?:Used (?:only to create|to create only)|Used once: )").FindAllStringSubmatch(string(manual), -1) {
		documented = append(documented, row[1])
	}
	if len(documented) < 8 {
		t.Fatalf("got %v in the manual, want at least eight fields", documented)
	}
	for _, field := range documented {
		if _, tried := writtenOnce[field]; !tried {
			t.Errorf("got no edit of %s in the table, want one", field)
		}
	}
}

// TestWhatWasWrittenOnceIsRemoved removes the keys and the password of a container from its manifest.
func TestWhatWasWrittenOnceIsRemoved(t *testing.T) {
	runLabWithSecrets(t, func(t *testing.T, l *lab, _ *secretStore) {
		l.files["dns.yaml"] = dnsYAML("passwordFrom: {file: web}", `sshKeys: ["`+keyOfAnn+`"]`)
		l.push("a container", alice)
		defer l.start()()
		l.converge()
		l.files["dns.yaml"] = dnsYAML()
		l.push("no password and no keys", alice)
		count := func() int {
			return len(slices.DeleteFunc(slices.Clone(l.guest(l.engine.Report(), 210).Conditions), func(c plan.Condition) bool { return c.Reason != reason.Impossible }))
		}
		eventually(t, "two conditions", func() bool { return count() == 2 })
		l.files["dns.yaml"] = dnsYAML("ignoreFields: [passwordFrom, sshKeys]")
		l.push("done by hand", alice)
		eventually(t, "no condition", func() bool { return count() == 0 })
		l.files["dns.yaml"] = dnsYAML()
		id := l.push("nothing to ignore any more", alice)
		eventually(t, "the revision", func() bool { return l.engine.Report().Source.Accepted.Commit == id })
		time.Sleep(2 * time.Minute)
		if got := count(); got != 0 {
			t.Errorf("got %d conditions, want none", got)
		}
	})
}

// TestBaselineWithoutAnAlarm adopts a container, and takes away what the records say of the creation of another one, as an older release left it.
func TestBaselineWithoutAnAlarm(t *testing.T) {
	runLabWithSecrets(t, func(t *testing.T, l *lab, s *secretStore) {
		s.contents["new"] = "another one"
		l.files["dns.yaml"] = dnsYAML("passwordFrom: {file: web}", `sshKeys: ["`+keyOfAnn+`"]`)
		l.push("a container", alice)
		if r := l.once(); !r.Converged {
			t.Fatalf("got %+v, want a container", r.Guests)
		}
		l.open()
		owned := l.journal.State().Owned[210]
		before := owned.CreatedWith
		owned.CreatedWith = ""
		l.ok(l.journal.Append(t.Context(), owned))
		l.close()
		if before == "" || strings.Contains(before, hunter) || strings.Contains(before, "AAAAC3") {
			t.Fatalf("got %q recorded, want fingerprints", before)
		}
		l.files["dns.yaml"] = dnsYAML("passwordFrom: {file: new}", `sshKeys: ["`+keyOfBob+`"]`)
		l.push("an edit before the upgrade", alice)
		if r := l.once(); hasCondition(l.guest(r, 210), plan.Warned, reason.Impossible) {
			t.Errorf("got %+v after an upgrade, want no alarm", l.guest(r, 210).Conditions)
		}
		l.opts.Secrets.Key = []byte("another key")
		if r := l.once(); hasCondition(l.guest(r, 210), plan.Warned, reason.Impossible) {
			t.Errorf("got %+v with another key, want no alarm", l.guest(r, 210).Conditions)
		}
		l.files["dns.yaml"] = dnsYAML("passwordFrom: {file: new}", `sshKeys: ["`+keyOfAnn+`"]`)
		l.push("an edit", alice)
		if r := l.once(); !hasCondition(l.guest(r, 210), plan.Warned, reason.Impossible) {
			t.Errorf("got %+v after an edit, want a condition", l.guest(r, 210).Conditions)
		}
	})
}

// TestCorrectedSourceIsTheBaseline corrects a source with which the creation failed.
func TestCorrectedSourceIsTheBaseline(t *testing.T) {
	runLabWithSecrets(t, func(t *testing.T, l *lab, _ *secretStore) {
		wrong := strings.Replace(dnsYAML(), "debian-12-standard_12.7-1", "debian-11-standard_11.7-1", 1)
		l.files["dns.yaml"] = wrong
		l.push("a template that does not exist", alice)
		defer l.start()()
		eventually(t, "the failure", func() bool {
			r := l.engine.Report()
			return len(r.Guests) > 0 && hasCondition(l.guest(r, 210), plan.Failed, "")
		})
		l.files["dns.yaml"] = dnsYAML()
		l.push("the right one", alice)
		l.converge()
		time.Sleep(2 * time.Minute)
		if g := l.guest(l.engine.Report(), 210); hasCondition(g, plan.Warned, reason.Impossible) {
			t.Errorf("got %+v, want the guest compared with the source that made it", g.Conditions)
		}
	})
}
