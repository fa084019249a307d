package reconcile_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// acceptAsOlderRelease records that an older release accepted the tip, whose manifests this release refuses. The agent must not run.
func (l *lab) acceptAsOlderRelease() {
	l.Helper()
	j, err := journal.Open(journal.Options{Dir: filepath.Join(l.state, "journal")})
	l.ok(err)
	next := *j.State().Accepted
	next.Commit, next.Tree = l.repo.Tip, l.repo.Tree()
	next.Sequence++
	l.ok(j.Append(l.Context(), next))
	l.ok(j.Close())
}

// TestIncidentUpgradeMakesTheRevisionInForceInvalid starts a release that refuses values which an older one accepted: a cut SSH key, a time zone that
// Proxmox does not know, two limits of a drive that exclude each other, and a value that a class contains. The guests with these values are held, with
// field and remedy, and every other guest is brought to the revision in force. No guest counts as removed, and no guard becomes weaker.
func TestIncidentUpgradeMakesTheRevisionInForceInvalid(t *testing.T) {
	t.Parallel()
	const class = "apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: keys}\nspec:\n  virtualMachine: {cloudInit: {sshKeys: [%s]}}\n"
	tests := map[string]struct {
		files map[string]string // as the older release accepted them
		vmid  int               // of the guest that is held
		words []string
	}{
		"cut_ssh_key": {
			map[string]string{"web.yaml": vmYAML("web-1", 201, "description: second", "cloudInit: {sshKeys: [ssh-ed25519 AAAA]}")},
			201,
			[]string{"web.yaml:9:", "cloudInit.sshKeys[0]", "want an SSH public key"},
		},
		"limits_of_a_drive": {
			map[string]string{"web.yaml": vmYAML("web-1", 201, "description: second", "disks: {scsi0: {limits: {mbps: 10, readMBps: 10}}}")},
			201,
			[]string{"web.yaml:9:", "disks.scsi0.limits.mbps", "want one or the other"},
		},
		"time_zone": {map[string]string{"dns.yaml": dnsYAML("description: second", "timezone: Etc/UTC")}, 210, []string{"timezone", "Etc/UTC"}},
		"class": {
			map[string]string{
				"keys.yaml": strings.Replace(class, "%s", "ssh-ed25519 AAAA", 1), "web.yaml": vmYAML("web-1", 201, "class: [keys]", "description: second"),
			}, 201, []string{"keys.yaml:5:", "want an SSH public key"},
		},
		"class_that_a_guest_overrides": {
			map[string]string{
				"keys.yaml": strings.Replace(class, "%s", "ssh-ed25519 AAAA", 1), "web.yaml": vmYAML("web-1", 201, "class: [keys]", "description: second"),
				"db.yaml": vmYAML("db-1", 202, "class: [keys]", "description: second", "cloudInit: {sshKeys: []}"),
			}, 201, []string{"keys.yaml:5:", "want an SSH public key"},
		},
		"guard_of_a_held_guest": {
			map[string]string{"web.yaml": vmYAML("web-1", 201, "description: second", "lifecycle: {destroy: allow}", "cloudInit: {sshKeys: [ssh-ed25519 AAAA]}")},
			201,
			[]string{"cloudInit.sshKeys[0]"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.rareTicks()
				l.files["web.yaml"], l.files["db.yaml"] = vmYAML("web-1", 201, "description: first"), vmYAML("db-1", 202, "description: first")
				l.files["dns.yaml"] = dnsYAML("description: first")
				l.push("accepted", alice)
				stop := l.start()
				l.converge()
				valid := map[string]string{}
				l.files["db.yaml"] = vmYAML("db-1", 202, "description: second")
				for path, text := range test.files {
					valid[path] = l.files[path]
					l.files[path] = text
				}
				l.push("accepted by an older release only", alice)
				eventually(l, "a refusal", func() bool { return l.refused().Commit == l.repo.Tip })
				stop()
				l.acceptAsOlderRelease()
				l.sim.ResetCounters()
				defer l.start()()
				l.waitForCondition(test.vmid, append([]string{string(plan.Blocked), string(reason.Impossible)}, test.words...)...)
				eventually(l, "the other guest", func() bool { return strings.HasPrefix(l.sim.Value(202, "description"), "second") })
				time.Sleep(time.Hour)
				r := l.engine.Report()
				if !r.Writes.Allowed || r.Converged {
					t.Errorf("got writes %+v, converged %t, want writes and a guest that is held", r.Writes, r.Converged)
				}
				if got := l.sim.Value(test.vmid, "description"); !strings.HasPrefix(got, "first") {
					t.Errorf("got description %q of the held guest, want it unchanged", got)
				}
				for _, vmid := range []int{201, 202, 210} {
					if g := l.guest(r, vmid); len(g.Held) > 0 || l.sim.Effects(vmid, pvesim.Destroyed) != 0 {
						t.Errorf("got held steps %+v of %d, want none", g.Held, vmid)
					}
				}
				for path := range test.files {
					if l.files[path] = strings.NewReplacer("first", "third").Replace(valid[path]); valid[path] == "" {
						delete(l.files, path)
					}
				}
				l.push("corrected", alice)
				l.converge()
				if got := l.sim.Value(test.vmid, "description"); !strings.HasPrefix(got, "third") {
					t.Errorf("got description %q after the correction, want it written", got)
				}
			})
		})
	}
}
