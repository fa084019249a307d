// Package lane executes steps on one guest, and recovers steps that a crash or a lost reply left open.
//
// A lane does not rely on the engine's plan. It reads its guest again, plans it again and asks the gate again, executes one step, and starts
// over, until nothing is left that may run. This second look is deliberate: a digest conflict, an edit in between or an outdated plan costs
// one reading and nothing else.
//
// In order of use:
//
//   - Worker.Work (turn.go) is one turn of a guest in its lane. It first settles the steps that are open in the journal.
//   - Basis (basis.go) is what the engine gives to the lanes: the accepted revision, its epoch, the last inventory, what prevents writing.
//   - superseded.go compares the epoch of a basis with the present one: a step begins only while its epoch lasts.
//   - lastCheck (last_check.go) runs immediately before a call is sent, after its last wait, and refuses it if anything changed.
//   - run (run.go) journals the intent, dispatches the calls (dispatch.go), waits for their effect (effect.go), and journals the outcome
//     (outcome.go).
//   - finish (finish.go) makes the call that a step still needs: the start after a restart (restart.go), the cloud-init drive after a
//     configuration (cloudinit_drive.go).
//   - settle (settle.go, called by recover.go) finds the outcome of an open step from its task, the task list and the guest. It repeats no call.
//
// Invariants: the intent is durable before the first call, the UPID after each call, and the outcome at the end. A step begins only in the
// epoch that it was planned in. A call whose outcome is not known is never repeated. An order is spent as soon as its call may have acted.
//
// Start reading at Worker.Work. To change what happens after a lost reply, see afterDoubt in dispatch.go.
package lane
