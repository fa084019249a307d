// Package observability causes every alert with a real fault, and sees it fire and resolve in a real Prometheus.
//
// The agent is the program that users run, the cluster the simulator, the forge git's own http-backend, and Prometheus the Debian program. Prometheus
// scrapes the agents and sends alerts to a pager in the test, as to an Alertmanager. Five worlds run at the same time, most with an agent that is one
// target: source (forge, commits, trust), guests, cluster (Proxmox), lifecycle (the process), disk (the state directory), rollouts,
// replicas (two agents with etcd) and promotion. Each breaks something, waits until the
// alert has reached the pager, follows docs/operations.md and waits until the alert has resolved. For each alert the test reads the message, opens
// status_url and looks for the heading of runbook_url.
//
// Afterwards the test evaluates every query over its whole time: no alert, recording rule, panel, annotation or variable of the dashboards may fail, and
// each must have had data. With -picture it draws one panel of each type for the documents.
//
// TestOutlets lets each source of the agent fail beside running agents, and compares what every outlet says with the table in docs/internals/proof.md. Its rows
// are in troubles_test.go; -update rewrites the table.
//
// # What differs from a real installation
//
// The rules are the shipped files, with times divided (package promtest): `for`, ranges and ages below a day by 60, ages of a day or more by 43,200. So
// fifteen minutes are fifteen seconds, and two weeks 28 seconds. The times until the token and the trusted root expire, and every other number, are as shipped.
// Promtool tests the shipped times in metrics/rules/tests. The test scrapes and evaluates every second, the agent polls and reads every half second, and its tasks
// may take three seconds; nothing else of the agent is changed. A push that took longer than ten minutes is a commit that was signed twenty minutes ago.
//
// A slow and a hanging disk are fsyncs that strace delays. A full disk is a small file system, and a read-only one has an error. Both need root.
//
// # Types, in order of use
//
//   - bench is what all worlds share: prometheus, pager, and the program of the agent.
//   - world is what belongs to one agent: cluster, repository, forge, config and process.
//   - drawing is a panel with its data, for a picture.
//
// Nothing is decided by a sleep: each wait ends with a condition. Start with observability_test.go and source_test.go. ../README.md describes how to run the
// test.
package observability
