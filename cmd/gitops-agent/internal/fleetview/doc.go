// Package fleetview reads the status of several agents, and prints or serves one row for each.
//
//   - ReadTargets reads a file of targets in the format of Prometheus's file_sd.
//   - Poll reads all targets at the same time, and returns a fleet.Row for each. A target that does not answer is a row too.
//   - WriteTable prints the rows; NewDocument is their JSON.
//   - Server serves them as a page and as JSON.
//
// What a row says of a cluster is decided by package fleet. The package changes nothing.
package fleetview
