package plan

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"

	"github.com/google/go-cmp/cmp"
)

// pendingCores returns web-1 running, with a written change that waits for the next start.
func pendingCores(more ...string) guest.Observed {
	live := fixture.LiveWeb(guest.StatusRunning)
	next := "4"
	live.Keys["cores"] = guest.Value{Text: "2", Set: true, Pending: &next}
	for _, key := range more {
		live.Keys[key] = guest.Value{Text: "1", Set: true, Delete: true}
	}
	return live
}

func cores(n string) guest.Intent { return guest.Intent{Key: "cores", Verb: guest.Want, Text: n} }

func TestRebootStep(t *testing.T) {
	with := func(policy guest.RebootPolicy, change func(*guest.Desired)) guest.Desired {
		d := fixture.WantWeb(cores("4"))
		d.Lifecycle.RebootPolicy = policy
		if change != nil {
			change(&d)
		}
		return d
	}
	stopped := pendingCores()
	stopped.Status = guest.StatusStopped
	tests := map[string]struct {
		want guest.Desired
		live guest.Observed
		step string // what the restart brings into effect and the doubt about it; "" is no restart
	}{
		"never":                     {want: with(guest.RebootNever, nil), live: pendingCores()},
		"auto":                      {want: with(guest.RebootAuto, nil), live: pendingCores(), step: "cores=4"},
		"approve":                   {want: with(guest.RebootApprove, nil), live: pendingCores(), step: "cores=4"},
		"not_written_yet":           {want: with(guest.RebootAuto, nil), live: fixture.LiveWeb(guest.StatusRunning, "cores", "2"), step: "cores=4"},
		"nothing_waits":             {want: with(guest.RebootAuto, nil), live: fixture.LiveWeb(guest.StatusRunning, "cores", "4")},
		"stopped":                   {want: with(guest.RebootAuto, nil), live: stopped},
		"about_to_stop":             {want: with(guest.RebootAuto, func(d *guest.Desired) { d.State = guest.Stopped }), live: pendingCores()},
		"foreign_change_waits_too":  {want: with(guest.RebootAuto, nil), live: pendingCores("tablet"), step: "cores=4 tablet (it also brings into effect what somebody else wrote: tablet)"},
		"only_foreign_change_waits": {want: with(guest.RebootAuto, func(d *guest.Desired) { d.Intents = nil }), live: pendingCores()},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, s := range New(owning(tt.want), cluster.Snapshot{Guests: map[int]guest.Observed{201: tt.live}}).Steps() {
				if s.Op != cluster.OpReboot {
					continue
				}
				for i, p := range s.Pending {
					if i > 0 {
						got += " "
					}
					got += p
				}
				if s.Doubt != "" {
					got += " (" + s.Doubt + ")"
				}
			}
			if got != tt.step {
				t.Errorf("got restart %q, want %q", got, tt.step)
			}
		})
	}
}

// An approval that was given before the change was written also releases the restart after it. An approval for other changes does not.
func TestRebootDigestCoversPendingValues(t *testing.T) {
	digest := func(d guest.Desired, live guest.Observed) string {
		d.Lifecycle.RebootPolicy = guest.RebootApprove
		steps := New(owning(d), cluster.Snapshot{Guests: map[int]guest.Observed{201: live}}).Steps()
		return steps[len(steps)-1].Digest("home", "id")
	}
	before, after := digest(fixture.WantWeb(cores("4")), fixture.LiveWeb(guest.StatusRunning, "cores", "2")), digest(fixture.WantWeb(cores("4")), pendingCores())
	if before != after {
		t.Errorf("got digest %s once the change is written, want %s as before", after, before)
	}
	if other := digest(fixture.WantWeb(cores("8")), fixture.LiveWeb(guest.StatusRunning, "cores", "2")); other == before {
		t.Errorf("got one digest for two changes")
	}
	foreign := func(text string) guest.Observed {
		live := pendingCores()
		live.Keys["tablet"] = guest.Value{Text: "1", Set: true, Pending: &text}
		return live
	}
	if digest(fixture.WantWeb(cores("4")), foreign("0")) == digest(fixture.WantWeb(cores("4")), foreign("2")) {
		t.Errorf("got one digest for two changes that somebody else wrote, want another approval for each")
	}
}

// A pending value in a slot of the manifest may still be foreign: another volume, or an option that the manifest does not contain.
func TestRebootDoubtsForeignChangeOfManagedKey(t *testing.T) {
	disk := guest.Intent{Key: "scsi0", Verb: guest.Want, Sub: map[string]string{"storage": "local", "size": "3G"}}
	for _, next := range []string{"local:201/vm-201-disk-9.qcow2,size=3G", "local:201/vm-201-disk-0.qcow2,iothread=1,size=3G"} {
		live := pendingCores()
		live.Keys["scsi0"] = guest.Value{Text: "local:201/vm-201-disk-0.qcow2,size=3G", Set: true, Pending: &next}
		d := fixture.WantWeb(cores("4"), disk)
		d.Lifecycle.RebootPolicy = guest.RebootAuto
		steps := New(owning(d), cluster.Snapshot{Guests: map[int]guest.Observed{201: live}}).Steps()
		if last := steps[len(steps)-1]; last.Op != cluster.OpReboot || !strings.Contains(last.Doubt, "scsi0") {
			t.Errorf("%s: got %s with doubt %q, want a restart that an approval has to release", next, last.Op, last.Doubt)
		}
	}
}

func TestShutdownParams(t *testing.T) {
	d := fixture.WantWeb()
	d.State, d.Lifecycle.ForceStop = guest.Stopped, true
	got := New(owning(d), cluster.Snapshot{Guests: map[int]guest.Observed{201: fixture.LiveWeb(guest.StatusRunning)}}).Steps()[0].Calls[0].Params
	if diff := cmp.Diff(map[string]string{"timeout": "180", "forceStop": "1"}, got); diff != "" {
		t.Errorf("parameters differ (-want +got):\n%s", diff)
	}
}

// owning returns the desired state of one guest that the agent created.
func owning(d guest.Desired) Desired {
	return Desired{Cluster: "home", Guests: []guest.Desired{d}, Owned: map[int]journal.Owned{d.VMID: fixture.Owned201()}}
}
