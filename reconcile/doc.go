// Package reconcile is the engine: one goroutine that keeps the guests of a cluster in the state of the accepted revision.
//
// One cycle (cycle.go), in order:
//
//   - let the trackers begin: may this process write (lease.go), what was read of the cluster (readings.go), which revision is in force (revision.go);
//   - give the lanes their Basis and journal changes that need no step (tidy.go);
//   - plan all guests (package plan) and order them by waves and dependencies;
//   - tell what lasts of the agent and the cluster (lease.go, readings.go);
//   - offer guests with a released step to their lanes (offer.go; packages gate, queue and lane);
//   - assess every guest: conditions, held steps, drift, convergence (assess.go, track_events.go, tracks.go);
//   - publish the report (publish.go), a projection of that assessment.
//
// Polls (package intake), ticks and the results of lanes (mailbox.go) start a cycle. The engine is level-triggered: each cycle starts from the
// present state and does not depend on how it arose. What the engine remembers between cycles is in the three trackers and in the tracks of guests; what was told is in
// the sink of events (package event).
//
// Invariants: lanes change the cluster and the journal, the intake changes the journal, and only the engine changes the report. The state of a
// cycle is final before it is published. Nothing is written to the cluster while the plan of the lease names a reason.
//
// Start reading at Engine.Run. CONTRIBUTING.md says what to change for a new reason of a condition, a new event and a new edge.
package reconcile
