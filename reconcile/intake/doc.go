// Package intake decides which revision is in force, and whether it still verifies. No other package decides that.
//
// In order of use:
//
//   - Intake.Poll (poll.go) fetches the head of the branch. If the policy changed, it first verifies the accepted revision again (resume.go).
//   - check.go verifies the head (package verify), loads and parses its manifests (load.go), and compares what each signer changed with the
//     signer's guests (guestscope.go). Accept makes an Accepted, the only value that the engine takes manifests from.
//   - record.go journals the acceptance, its orders (order.go), who introduced which field (introduced.go), the guards of its guests, and the files of
//     its manifests (last_files.go), in one append.
//   - refused.go remembers the head that was refused, so that it is not verified at each poll.
//   - base.go and floor.go keep the floor: the newest accepted revision in the comment of a Proxmox pool, which survives the loss of the state
//     directory.
//   - rewrite.go reads the one-shot permission of gitops-agent allow-rewrite.
//   - InForce is the result: the accepted revision, the reason if the revision no longer verifies, and the epoch that began with it.
//
// Invariants: a refusal changes nothing but the report. The base advances only with an acceptance. An acceptance begins a new epoch, and no
// step begins while it is made durable. Nothing below the floor is accepted.
//
// Start reading at Intake.Poll. To add a reason to refuse a revision, return a RefusedError from Accept, and add the reason to
// report.RefusedReasons.
package intake
