// Package clustertest is one suite of tests for a cluster.Cluster and the cluster behind it. It runs on the simulator, and on a
// real cluster if the environment names one, so that a difference between the two fails a test. docs/internals/simulator.md describes how to run it.
//
// The suite changes guests only within a range of vmids. It rejects a range that is not empty, and removes the guests that it created, also
// when a test fails. After the process was killed, guests with the name clustertest may remain. The suite needs a token with the
// documented role and nothing else. A test is skipped if the cluster lacks something that the test needs, such as a second node.
//
// Target (target.go) describes the cluster. Run (clustertest.go) lists the tests. testGuest (guest.go) is a guest of a test, with methods
// that carry out calls and check the result. Each of the other files holds the tests of one subject.
package clustertest
