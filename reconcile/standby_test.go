package reconcile_test

import (
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/pause"
	"gitops-agent/reconcile/reason"
)

// TestStandbySaysWhyItCouldNotTakeOver makes each obstacle that a standby would have as the leader: it reports it, and that it is a standby otherwise.
func TestStandbySaysWhyItCouldNotTakeOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, file := newPausableLab(t, newSim(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}}), defaultPoll)
		l.files["cluster.yaml"], l.files["web.yaml"] = clusterYAML, vmYAML("web-1", 201)
		l.push("web-1", alice)
		lead := l.start()
		l.converge()
		lead()
		l.opts.Standby = "another agent leads"
		l.sim.ResetCounters()
		defer l.start()()
		stops := func(what string, want reason.Stop) {
			t.Helper()
			time.Sleep(2 * time.Minute)
			if w := l.engine.Report().Writes; w.Allowed || w.Reason != want {
				t.Errorf("%s: got writes %+v, want the reason %s", what, w, want)
			}
		}
		stops("nothing", reason.StopStandby)
		l.sim.LoseQuorum()
		stops("no quorum", reason.StopNotReady)
		l.sim.RegainQuorum()
		l.ok(file.Write(pause.Note{Reason: "upgrade", Since: time.Now()}))
		stops("a pause", reason.StopPaused)
		_, err := file.Remove()
		l.ok(err)
		before := l.policy.Swap(l.otherPolicy())
		stops("a revision that does not verify", reason.StopUnverified)
		l.policy.Store(before)
		stops("nothing any more", reason.StopStandby)
		if n := l.sim.Counters().Writes; n != 0 {
			t.Errorf("got %d writes of a standby, want none", n)
		}
	})
}

// TestStandbyKnowsWhatItsLeaderDoes lets the leader create a guest again between two readings of its standby, which has its records first: that is no drift. What a
// person does afterwards is.
func TestStandbyKnowsWhatItsLeaderDoes(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "state: stopped")
		l.push("web-1", alice)
		lead := l.start()
		l.converge()
		l.ok(l.journal.Append(l.Context(), journal.Disowned{VMID: 201, Reason: "destroyed"}))
		lead()
		l.byPerson("DELETE", webPath)
		l.opts.Standby = "another agent leads"
		seen := &said{vmid: 201}
		l.opts.Hooks.OnEvent = seen.event
		defer l.start()()
		time.Sleep(2*time.Minute + time.Second)
		made := ownership.NewRecord("home", guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, journal.Created, "")
		made.Claiming, made.Task = true, "UPID:pve1:00000001:00000001:00000001:qmclone:9000:gitops@pve!agent:"
		l.ok(l.journal.Append(l.Context(), made))
		_, err := l.sim.AddVM(pvesim.Guest{VMID: 201, Config: "name: web-1\ntags: " + made.Tag + "\nscsi0: local:2\n"})
		l.ok(err)
		l.files["web.yaml"] = vmYAML("web-1", 201, "state: stopped", "description: new")
		l.push("a head that the standby fetches before its next reading", alice)
		l.engine.Hint()
		time.Sleep(5 * time.Minute)
		if len(seen.events) > 0 {
			t.Errorf("got %v from a standby whose leader created the guest, want nothing", seen.events)
		}
		l.byPerson("DELETE", webPath)
		time.Sleep(5 * time.Minute)
		if len(seen.events) != 1 || seen.events[0] != event.GuestDrifted {
			t.Errorf("got %v after a person removed the guest, want its drift", seen.events)
		}
	})
}
