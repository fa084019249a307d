package reconcile_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
)

// otherConfig is the config of a guest that a user made.
const otherConfig = "name: dave\nsmbios1: uuid=11111111-2222-3333-4444-555555555555\n"

// TestLaneStopsAtASupersededRevision pushes a mistake and then its correction while the guest's lane is applying the mistake. The lane must not
// continue with the mistake.
func TestLaneStopsAtASupersededRevision(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		was, mistake, correction string // db-1's manifest; "" removes it
		effect                   pvesim.Op
	}{
		"destroy_of_a_guest_that_is_wanted_again": {
			was: vmYAML("db-1", 202, "lifecycle: {destroy: allow}"), correction: vmYAML("db-1", 202, "lifecycle: {destroy: allow}"),
			effect: pvesim.Destroyed,
		},
		"shutdown_of_a_guest_that_is_suspended": {
			was: vmYAML("db-1", 202, "state: running"), mistake: vmYAML("db-1", 202, "state: stopped"),
			correction: vmYAML("db-1", 202, "state: running", "suspend: {reason: hands off, author: alice}"),
			effect:     pvesim.Stopped,
		},
		"config_that_was_taken_back": {
			was: vmYAML("db-1", 202, "memory: {size: 2Gi}"), mistake: vmYAML("db-1", 202, "memory: {size: 8Gi}"),
			correction: vmYAML("db-1", 202, "memory: {size: 2Gi}"),
			effect:     pvesim.ConfigWritten,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithProbe(t, nil, func(t *testing.T, l *lab, p *probe) {
				l.files["keep.yaml"] = vmYAML("keep-1", 209)
				l.files["db.yaml"] = test.was
				l.push("first", alice)
				defer l.start()()
				l.converge()
				l.sim.ResetCounters()
				stalled := p.stop(202)
				l.files["db.yaml"] = test.mistake
				if test.mistake == "" {
					delete(l.files, "db.yaml")
				}
				l.push("mistake", alice)
				<-stalled.reached
				l.files["db.yaml"] = test.correction
				l.waitForAcceptance(l.push("correction", alice))
				close(stalled.release)
				time.Sleep(5 * time.Minute)
				if got := l.sim.Effects(202, test.effect); got != 0 {
					t.Errorf("got %d times %s under a revision that is no longer in force, want none", got, test.effect)
				}
			})
		})
	}
}

// TestRememberedLifecycleIsTheAcceptedOne creates a guest under one revision while the agent accepts the next revision, which forbids its
// destruction.
func TestRememberedLifecycleIsTheAcceptedOne(t *testing.T) {
	runLabWithProbe(t, nil, func(t *testing.T, l *lab, p *probe) {
		l.files["keep.yaml"] = vmYAML("keep-1", 209)
		l.push("first", alice)
		defer l.start()()
		l.converge()
		stalled := p.stop(202)
		l.files["db.yaml"] = vmYAML("db-1", 202, "lifecycle: {destroy: allow}")
		l.push("a guest that may go", alice)
		<-stalled.reached
		l.files["db.yaml"] = vmYAML("db-1", 202, "lifecycle: {destroy: deny}")
		l.waitForAcceptance(l.push("it may not", alice))
		close(stalled.release)
		l.converge()
		if got := l.journal.State().Guarded[202].Destroy; got != "deny" {
			t.Errorf("got %q remembered, want deny", got)
		}
		delete(l.files, "db.yaml")
		l.waitForAcceptance(l.push("remove", alice))
		time.Sleep(10 * time.Minute)
		if got := l.sim.Effects(202, pvesim.Destroyed); got != 0 {
			t.Errorf("got %d destroys of a guest whose last accepted manifest denied it, want none", got)
		}
	})
}

// TestDestroyReadsAgainAfterTheStop changes something between the stop and the destroy of one composite step.
func TestDestroyReadsAgainAfterTheStop(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, l *lab, db string){
		"guest_was_replaced": func(_ *testing.T, l *lab, _ string) {
			l.ok(l.sim.RemoveGuest(202))
			_, err := l.sim.AddVM(pvesim.Guest{VMID: 202, Config: otherConfig})
			l.ok(err)
		},
		"disk_was_attached": func(_ *testing.T, l *lab, _ string) {
			l.ok(l.sim.AddVolume("local:202/vm-202-disk-7.qcow2", 1<<30))
			l.ok(l.sim.Edit(202, "scsi7", "local:202/vm-202-disk-7.qcow2,size=1G"))
		},
		"manifest_is_back": func(_ *testing.T, l *lab, db string) {
			l.files["db.yaml"] = db
			l.waitForAcceptance(l.push("put it back", alice))
		},
	}
	for name, meanwhile := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithProbe(t, nil, func(t *testing.T, l *lab, p *probe) {
				db := vmYAML("db-1", 202, "state: running", "lifecycle: {destroy: allow}")
				l.files["keep.yaml"] = vmYAML("keep-1", 209)
				l.files["db.yaml"] = db
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				var stopping, happened atomic.Bool
				p.setHooks(hooks{wait: func(upid string) error {
					if strings.Contains(upid, ":qmstop:202:") && !stopping.Swap(true) {
						meanwhile(t, l, db)
						happened.Store(true)
					}
					return nil
				}})
				delete(l.files, "db.yaml")
				l.push("remove", alice)
				eventually(t, "the change after the stop", happened.Load)
				time.Sleep(time.Second)
				if got := p.count(cluster.OpDestroy, 202); got != 0 {
					t.Errorf("got %d destroys after a change, want none before another read", got)
				}
				if l.sim.Config(202) == "" {
					t.Error("got no guest 202 any more, want it there")
				}
			})
		})
	}
}

// TestRemovalOfASuspendedGuestNeedsASignature removes the manifest of a guest that the agent was not allowed to change.
func TestRemovalOfASuspendedGuestNeedsASignature(t *testing.T) {
	t.Parallel()
	for name, resting := range map[string]string{"suspended": "suspend: {reason: forensics, author: alice}", "observed": "mode: observe"} {
		t.Run(name, func(t *testing.T) {
			runLabWithProbe(t, nil, func(t *testing.T, l *lab, _ *probe) {
				l.files["keep.yaml"] = vmYAML("keep-1", 209)
				l.files["db.yaml"] = vmYAML("db-1", 202, "lifecycle: {destroy: allow}")
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				l.files["db.yaml"] = vmYAML("db-1", 202, "lifecycle: {destroy: allow}", resting)
				l.waitForAcceptance(l.push("suspend it", alice))
				delete(l.files, "db.yaml")
				l.waitForAcceptance(l.push("remove", alice))
				digest := l.digestOfHold(202)
				time.Sleep(10 * time.Minute)
				if got := l.sim.Effects(202, pvesim.Destroyed); got != 0 {
					t.Fatalf("got %d destroys without a signature, want none", got)
				}
				l.approve(digest)
				eventually(t, "the approved destroy", func() bool { return l.sim.Effects(202, pvesim.Destroyed) == 1 })
			})
		})
	}
}
