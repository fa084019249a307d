// Package reconcile is the engine: one goroutine that compares the accepted revision with the live cluster in a loop.
//
// A cycle derives the plan (package plan) from the desired guests and the newest readings (package observe), lets the gate judge each step
// (package gate), offers guests with a released step to their lanes (packages queue and lane), and publishes one report (package report).
// Polls arrive through package intake, which alone decides the revision in force. The loop is level-triggered: each cycle starts from the
// present state and does not depend on how that state arose.
package reconcile
