// Package reconcile turns an accepted revision into work on a live cluster, in a loop.
//
// One value a step, each immutable once handed on: verify.Revision -> Accepted -> Plan -> Gate -> Queue -> Report. The loop is
// level-triggered: every cycle compares what is wanted with what is there and forgets how it came to be so.
package reconcile
