// Package statusview reads the status of a running agent over HTTP, waits until the cluster is converged, and prints the report.
//
// Main types and functions, in order of use:
//
//   - NewClient returns a Client for the address of --url, or for the socket of the agent of the config.
//   - Client.Read returns the newest report: parsed, and the bytes as the agent sent them, which are the JSON result of status. It refuses an
//     answer that is not a status, and a status of another schema version.
//   - Client.Await polls until a Wait is over: the cluster is converged with the revision in force, the agent refused the revision, or
//     the time ran out.
//   - Client.ReadGuest returns one guest in full, and WriteGuest prints it.
//   - WriteReport prints a report: the revision in force, the problems of the agent as a whole, one row per guest with its held steps and
//     conditions below it, and a summary.
//
// The files: client.go talks to the agent, wait.go decides when a wait is over, report.go prints a report, guest.go one guest.
//
// The commands status, approve and run call it; run --once prints the report of its own engine with the same function. The package changes
// nothing, and the status itself is defined by package report.
package statusview
