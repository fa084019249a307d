// Package report declares what the agent reports, as plain values: after every cycle one Report, and for each event one small struct.
//
// The status page, /status.json, "gitops-agent status" and the metrics all print the same Report. The JSON of "gitops-agent plan" consists of
// the same GuestName, Change and Hold, so a field has the same name and meaning in both documents.
//
// The files, in order of reading:
//
//   - report.go: Report, and what it contains about the source, the cluster, the journal and permission to write
//   - guest.go: Guest, with its three axes (sync, health, operation), its conditions, its changes and its held steps
//   - change.go: Change, one difference; NewChange hides secrets
//   - held.go: Hold, why the gate holds a step; HeldStep
//   - refusal.go: Refused, the branch head that was not accepted, and the reasons
//   - document.go: Document, the Report as versioned JSON; guest_document.go: one guest in full
//   - events.go: the outcomes of a poll, a verification, a plan, a step, a drift and a convergence, which the engine's hooks receive
//
// The package computes nothing about a guest: the engine decides, and fills the values in. The package links neither the verifier nor the
// repository, so a program can read a Document without them.
package report
