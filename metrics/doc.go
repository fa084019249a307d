// Package metrics exports what the agent knows and does to Prometheus. Names and labels are a contract, and docs/metrics.md is its text:
// dashboards and alert rules of users depend on them.
//
// Gauges are read off the newest reconcile.Report when Prometheus scrapes, so a guest that left leaves no series behind.
// Counters and histograms are fed by hooks. Every label set is closed and begins at zero; no text from the repository becomes
// a label, except the guest names of guest_info. A guest has seven series.
package metrics
