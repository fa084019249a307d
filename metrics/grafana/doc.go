// Package grafana describes the dashboards that users import: fleet.json, guest.json and agent.json in this folder.
//
// The files are generated, because a panel is fifty lines of JSON of which five say what it shows. After a change, run
// go test ./metrics/grafana -update and read the diff. No program links this package.
//
//   - dashboard.go: Dashboard and Panel, and constructors of each kind of panel with its defaults
//   - fleet.go, guest.go, agent.go: the panels
//
// The tests of package metrics check every expression in the files.
package grafana
