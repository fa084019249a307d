package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

const limitOneYAML = clusterYAML + "  guards: {maxDestroysPerDay: 1}\n"

// TestIncidentFailedDestroysPassTheLimit removes five guests that may be destroyed, with a limit of one destroy a day, while Proxmox fails or
// rejects every destroy or loses its reply. Every call that was sent counts: Proxmox gets one call, also after a restart of the agent.
func TestIncidentFailedDestroysPassTheLimit(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault   pvesim.Fault
		restart bool // after the first attempt
	}{
		"task_fails":       {fault: pvesim.Fault{Kind: pvesim.TaskFails, Text: "storage is busy"}},
		"rejected":         {fault: pvesim.Fault{Kind: pvesim.ErrorText, Text: "VM is locked (backup)"}},
		"reply_lost":       {fault: pvesim.Fault{Kind: pvesim.DropBefore}},
		"gateway":          {fault: pvesim.Fault{Kind: pvesim.ProxyStatus, Status: 596}},
		"lost_worker":      {fault: pvesim.Fault{Kind: pvesim.LostWorker}},
		"after_a_restart":  {fault: pvesim.Fault{Kind: pvesim.TaskFails, Text: "storage is busy"}, restart: true},
		"rejected_restart": {fault: pvesim.Fault{Kind: pvesim.ErrorText, Text: "VM is locked (backup)"}, restart: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.files["cluster.yaml"] = limitOneYAML
				l.files["keep.yaml"] = vmYAML("keep-1", 250)
				for i := range 5 {
					l.files[fmt.Sprintf("web-%d.yaml", i)] = vmYAML(fmt.Sprintf("web-%d", i), 201+i, "lifecycle: {destroy: allow}")
				}
				l.push("six guests", alice)
				stop := l.start()
				l.converge()
				test.fault.Method, test.fault.Path, test.fault.Times = "DELETE", `/qemu/20\d$`, -1
				l.ok(l.sim.Inject(test.fault))
				for i := range 5 {
					delete(l.files, fmt.Sprintf("web-%d.yaml", i))
				}
				l.waitForAcceptance(l.push("remove five", alice))
				time.Sleep(15 * time.Minute)
				if test.restart {
					stop()
					stop = l.start()
				}
				defer func() { stop() }()
				time.Sleep(45 * time.Minute)
				deletes, held := len(w.deletes()), 0
				for _, g := range l.engine.Report().Guests {
					if len(g.Held) == 1 && g.Held[0].Reason == reason.DestroyLimit {
						held++
					}
				}
				if deletes != 1 || held == 0 {
					t.Errorf("got %d calls to destroy a guest in an hour and %d guests held, want 1 call and the others held", deletes, held)
				}
			})
		})
	}
}

// TestDestroyThatWasNotSentDoesNotCount removes a guest whose destroy was planned and begun, and never left the agent, since a call before
// it failed: Proxmox does not lift the protection. The next destroy is still allowed.
func TestDestroyThatWasNotSentDoesNotCount(t *testing.T) {
	runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
		l.files["cluster.yaml"] = limitOneYAML
		l.files["keep.yaml"] = vmYAML("keep-1", 250)
		l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow, protection: true}")
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/201/config$", Kind: pvesim.TaskFails, Text: "not today", Times: 2}))
		delete(l.files, "web.yaml")
		l.waitForAcceptance(l.push("remove one", alice))
		l.approve(l.digestOfHold(201))
		eventually(l, "the destroy", func() bool { return l.sim.Effects(201, pvesim.Destroyed) == 1 })
		if got := l.journal.State().Destroys; len(got) != 1 || len(w.deletes()) != 1 {
			t.Errorf("got destroys at %v and calls %v, want one of each", got, w.deletes())
		}
		failed := 0
		_, err := journal.Read(l.state+"/journal", func(r journal.Record) error {
			if ended, ok := r.Body.(journal.Ended); ok && ended.Result == journal.Failed {
				failed++
			}
			return nil
		})
		if err != nil || failed != 2 {
			t.Errorf("got %d failed attempts, %v, want 2", failed, err)
		}
	})
}

// deletes returns the calls to destroy a guest that left the client.
func (w *wire) deletes() []sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []sent
	for _, s := range w.sent {
		if s.method == "DELETE" {
			found = append(found, s)
		}
	}
	return found
}
