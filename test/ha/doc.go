// Package ha disturbs real agents that share a journal in a real etcd, and counts at the simulator what happened to the guests.
//
// Each seed is a world of two agents, a simulated cluster and a repository; all worlds share an etcd of three members. A person pushes changes that create,
// change and destroy guests. While the leader works on them, one of the disturbances of ha_test.go happens. The agents must converge, and each effect must have
// happened exactly as often as in a world without a disturbance.
//
// Start with ha_test.go; world_test.go has what belongs to one seed, calls_test.go finds late calls, and etcd_test.go breaks an etcd of its own.
// ../README.md describes how to run the tests.
package ha
