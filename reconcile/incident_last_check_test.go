package reconcile_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
)

// TestIncidentDestroyWaitsForAWriteSlot removes the manifest of a guest while both write slots of its node are busy. The destroy waits in the
// client. Until it is sent, the vmid may get another guest, a newer revision may want the guest again, and the agent may be stopped: then the
// destroy must not be sent.
func TestIncidentDestroyWaitsForAWriteSlot(t *testing.T) {
	tests := map[string]struct {
		meanwhile func(l *lab, stop func())
		destroyed bool
	}{
		"nothing_happens": {func(*lab, func()) {}, true},
		"another_guest_has_the_vmid": {func(l *lab, _ func()) {
			l.ok(l.sim.RemoveGuest(201))
			_, err := l.sim.AddVM(pvesim.Guest{VMID: 201, Config: "name: mail-0\nmemory: 512\nscsi0: local-lvm:vm-201-disk-0,size=4G\n"})
			l.ok(err)
		}, false},
		"a_newer_revision_wants_it": {func(l *lab, _ func()) {
			l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow}")
			l.pushNow("keep it")
		}, false},
		"agent_is_stopped": {func(_ *lab, stop func()) {
			go stop() // returns when the lanes have ended
			synctest.Wait()
		}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, newSim(t, pvesim.Options{}))
				l.files["cluster.yaml"] = clusterYAML
				for vmid := 202; vmid <= 203; vmid++ {
					l.files[fmt.Sprintf("%d.yaml", vmid)] = vmYAML(fmt.Sprintf("busy-%d", vmid), vmid)
				}
				l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow}")
				l.push("three guests", alice)
				stop := l.start()
				stopped := false
				defer func() {
					if !stopped {
						stop()
					}
				}()
				l.converge()
				l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/20[23]/config$", Kind: pvesim.HoldBefore, Times: 2}))
				for vmid := 202; vmid <= 203; vmid++ {
					l.files[fmt.Sprintf("%d.yaml", vmid)] = vmYAML(fmt.Sprintf("busy-%d", vmid), vmid, "description: busy")
				}
				l.pushNow("occupy the write slots")
				l.ok(l.sim.WaitHeld(l.Context(), 2))
				delete(l.files, "web.yaml")
				l.pushNow("remove web-1")
				eventually(l, "the destroy to wait for a slot", func() bool {
					for _, open := range l.journal.State().Open {
						if open.VMID == 201 {
							return true
						}
					}
					return false
				})
				test.meanwhile(l, func() { stopped = true; stop() })
				l.sim.Release()
				time.Sleep(time.Minute)
				if got := l.sim.Effects(201, pvesim.Destroyed) > 0; got != test.destroyed {
					t.Errorf("got destroyed %t, want %t", got, test.destroyed)
				}
			})
		})
	}
}

// pushNow pushes, and has the engine poll at once: the held calls must not reach their time limit meanwhile.
func (l *lab) pushNow(message string) {
	l.Helper()
	id := l.push(message, alice)
	l.engine.Hint()
	l.waitForAcceptance(id)
}
