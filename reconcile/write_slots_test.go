package reconcile_test

import (
	"fmt"
	"slices"
	"testing/synctest"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
)

// busyGuests are two guests, as many as pve1 has write slots.
var busyGuests = []int{298, 299}

// addBusyGuests adds the manifests of the guests with which occupyWriteSlots works.
func (l *lab) addBusyGuests() { l.describeBusyGuests("free") }

func (l *lab) describeBusyGuests(text string) {
	for _, vmid := range busyGuests {
		l.files[fmt.Sprintf("busy-%d.yaml", vmid)] = vmYAML(fmt.Sprintf("busy-%d", vmid), vmid, "description: "+text)
	}
}

// occupyWriteSlots changes the busy guests, and holds these calls in Proxmox: every further call to pve1 waits in the client until freeWriteSlots. The
// held calls reach their time limit after half a minute, so what follows must be quick, as pushNow is.
func (l *lab) occupyWriteSlots() {
	l.Helper()
	l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/29[89]/config$", Kind: pvesim.HoldBefore, Times: len(busyGuests)}))
	l.describeBusyGuests("busy since " + l.repo.Tip)
	l.pushNow("occupy the write slots")
	l.ok(l.sim.WaitHeld(l.Context(), len(busyGuests)))
}

// freeWriteSlots lets the calls of occupyWriteSlots take effect.
func (l *lab) freeWriteSlots() {
	l.sim.Release()
	l.sim.ClearFaults()
}

// waitForWaitingCall waits until a call to a guest waits for a slot: everything but its last check is done.
func (l *lab) waitForWaitingCall(vmid int) {
	l.Helper()
	eventually(l, fmt.Sprintf("a call to %d that waits for a slot", vmid), func() bool {
		return slices.ContainsFunc(l.journal.State().Open, func(o journal.OpenStep) bool { return o.VMID == vmid })
	})
	synctest.Wait()
}

// pushNow pushes, and has the engine poll at once: held calls must not reach their time limit meanwhile.
func (l *lab) pushNow(message string) {
	l.Helper()
	l.pollNow(l.push(message, alice))
}

// pollNow has the engine poll a commit at once.
func (l *lab) pollNow(id string) {
	l.Helper()
	l.engine.Hint()
	l.waitForAcceptance(id)
}
