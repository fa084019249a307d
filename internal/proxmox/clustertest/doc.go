// Package clustertest is one suite of tests for a reconcile.Cluster and the cluster behind it. It runs on the simulator, and on a
// real cluster where one is offered, so that the two cannot drift apart unnoticed. docs/quickstart.md tells how to run it on one's own.
//
// The suite changes guests within a range of vmids alone. It refuses a range that is not empty, and removes what it made, also
// when a test fails; what is left when the process is killed has the name clustertest. It needs a token with the documented role
// and nothing else. What a cluster does not have, such as a second node, is a skipped test there.
package clustertest
