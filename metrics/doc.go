// Package metrics exports the agent's state and work to Prometheus. Metric names and labels are an interface, which docs/metrics.md describes:
// dashboards and alert rules of users depend on them. Tests compare that page with the metrics.
//
// A Metrics value collects from two sources:
//
//   - State. Report stores the newest report.Report, and each scrape computes the gauges from it. So the series of a guest end when the guest
//     leaves the report.
//   - Work. The engine's hooks call the other methods, which count events and observe durations.
//
// Every label has a closed list of values, and every counter exists from the first scrape, at zero. The series of API requests are the
// exception: those of a route begin with the first request on that route. Text from the repository is never a label, except the guest
// names of guest_info. A guest has eight series.
//
// The files:
//
//   - metrics.go: Metrics, New, and the series that exist from the start
//   - events.go: the methods that the engine's hooks call; request.go: the method for requests to the Proxmox API
//   - collector.go: the gauges that are computed from the newest report
//   - constructors.go: short constructors of metrics
//
// The package imports the report, and the packages that own the enumerations in it. The reasons for which a signature is rejected are a parameter
// of New, so that the package does not link the verifier.
package metrics
