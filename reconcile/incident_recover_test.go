package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/recovery"
	"gitops-agent/verify"
)

// lostGuests lets an agent make two guests, and loses its state.
func (l *lab) lostGuests() {
	l.Helper()
	l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}", "lifecycle: {destroy: allow, recreate: allow}")
	l.files["dns.yaml"], l.files["keep.yaml"] = dnsYAML("lifecycle: {destroy: allow}"), vmYAML("keep-1", 209)
	l.push("three guests", alice)
	l.once()
	l.loseState()
	time.Sleep(time.Minute) // an approval must be signed after the new state began
	l.opts.Recover = recovery.Note{Dir: l.state}
}

// recoverable waits until the report contains the three guests that would be claimed, and returns them with their digest.
func (l *lab) recoverable() recovery.Result {
	l.Helper()
	var found recovery.Result
	eventually(l, "guests that would be claimed", func() bool {
		if r := l.engine.Report().Recovery; r != nil {
			found = *r
		}
		return len(found.Claims()) == 3
	})
	return found
}

// TestIncidentLostRecordsAreRestoredByHand loses the state directory. A signed approval, or a file on the host, that names the digest of exactly the
// present guests claims them again, without a write to the cluster. Their destruction then needs an approval, whatever their manifests allow.
func TestIncidentLostRecordsAreRestoredByHand(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"approval", "approval_without_the_role", "approval_outside_of_the_scope", "on_the_host"} {
		t.Run(how, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.lostGuests()
				w.reset()
				stop := l.start()
				found := l.recoverable()
				l.waitForCondition(201, string(plan.IdentityConflict), "not-managed", l.marker(201))
				if hint := l.hintOf(201, plan.IdentityConflict); !strings.Contains(hint, "gitops-agent recover") || !strings.Contains(hint, found.Digest) {
					t.Errorf("got hint %q, want the command and the digest", hint)
				}
				switch how {
				case "approval":
					l.approve(found.Digest)
				case "approval_outside_of_the_scope":
					l.trustSigners(scoped(alice, nil, nil, verify.RoleChange), scoped(olga, nil, []string{"web.yaml", "dns.yaml", "keep.yaml"}, verify.RoleApprove))
					l.approve(found.Digest)
					l.waitForCondition(201, string(plan.IdentityConflict), "approval by olga@lab.test does not count: the recovery of lost records belongs to the whole cluster")
					time.Sleep(10 * time.Minute)
					l.recoverable()
					stop()
					return
				case "approval_without_the_role":
					l.push("Approve\n\nGitops-Approve: "+found.Digest+"\n", alice)
					time.Sleep(10 * time.Minute)
					l.recoverable()
					stop()
					return
				default:
					l.ok(l.opts.Recover.Write(recovery.Release{Digest: "another", UID: 7, Since: time.Now()}))
					time.Sleep(10 * time.Minute)
					l.recoverable()
					l.ok(l.opts.Recover.Write(recovery.Release{Digest: found.Digest, UID: 7, Since: time.Now()}))
				}
				l.converge()
				w.wantNoWrites(t)
				if l.engine.Report().Recovery != nil || l.opts.Recover.Exists() {
					t.Errorf("got %+v, note %t, want neither", l.engine.Report().Recovery, l.opts.Recover.Exists())
				}
				owned := l.journal.State().Owned[201]
				if owned.Origin != journal.Recovered || owned.Tag != l.marker(201) || !strings.Contains(l.sim.Value(201, "smbios1"), owned.UUID) {
					t.Errorf("got record %+v, want the marker %s", owned, l.marker(201))
				}
				stop()
				defer l.start()() // the guards outlast a restart and another revision
				l.converge()
				l.ok(l.sim.Edit(201, "memory", "4096"))
				eventually(t, "the repair", func() bool { return l.sim.Value(201, "memory") == "2048" })
				delete(l.files, "web.yaml")
				l.push("remove web", alice)
				l.waitForHold(201, reason.Approval)
				l.approve(l.digestOfHold(201))
				l.converge()
				if got := l.sim.Effects(201, pvesim.Destroyed); got != 1 {
					t.Errorf("got %d destroys, want one after an approval", got)
				}
			})
		})
	}
}

// TestIncidentForeignGuestIsRecovered loses the state directory, and somebody replaces a lost guest by another one with a copied marker or another
// uuid. A digest that was approved before the replacement claims nothing, and neither guest is claimed while the evidence contradicts itself.
func TestIncidentForeignGuestIsRecovered(t *testing.T) {
	t.Parallel()
	const other = "11111111-2222-4333-8444-555555555555"
	tests := map[string]struct {
		config string // of the other guest; MARKER is that of keep-1, LOST that of the lost guest
		want   recovery.Verdict
	}{
		"copied_tag":   {"name: web-1\ntags: MARKER\n", recovery.Copied},
		"both_tags":    {"name: web-1\ntags: LOST;MARKER\n", recovery.SeveralMarkers},
		"another_name": {"name: dave\ntags: LOST\n", recovery.OtherName},
		"another_uuid": {"name: web-1\ntags: LOST\nsmbios1: uuid=" + other + "\n", recovery.OtherUUID},
		"container":    {"hostname: web-1\ntags: LOST\n", recovery.OtherKind},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				const uuid = "99999999-2222-4333-8444-555555555555"
				l.lostGuests()
				l.files["web.yaml"] = strings.Replace(blankYAML("raw: {smbios1: \"uuid="+uuid+"\"}"), "local-lvm", "local", 1)
				l.push("a uuid", alice)
				l.ok(l.sim.Edit(201, "smbios1", "uuid="+uuid))
				defer l.start()()
				approved := l.recoverable().Digest
				lost, keep := l.marker(201), l.marker(209)
				l.ok(l.sim.RemoveGuest(201))
				add := l.sim.AddVM
				if name == "container" {
					add = l.sim.AddCT
				}
				_, err := add(pvesim.Guest{VMID: 201, Config: strings.NewReplacer("MARKER", keep, "LOST", lost).Replace(test.config), Running: true})
				l.ok(err)
				config := l.sim.Config(201)
				w.reset()
				l.approve(approved)
				eventually(l, "the verdict "+string(test.want), func() bool {
					r := l.engine.Report().Recovery
					if r == nil {
						return false
					}
					g, found := r.Of(201)
					return found && g.Verdict == test.want
				})
				time.Sleep(10 * time.Minute)
				if _, owned := l.journal.State().Owned[201]; owned || l.sim.Config(201) != config || !l.sim.Running(201) {
					t.Errorf("got it owned %t with %q, want the other guest untouched: %q", owned, l.sim.Config(201), config)
				}
				w.wantNoWrites(t)
			})
		})
	}
}
