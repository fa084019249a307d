// Package clustertest is one suite of tests for a reconcile.Cluster and the cluster behind it. It runs on the simulator, and on a
// real cluster where one is offered, so that the two cannot drift apart unnoticed.
//
// The suite changes guests within a range of vmids alone. It refuses a range that is not empty, and removes what it made.
package clustertest
