// Package ha disturbs real agents that share a journal in a real etcd, and counts at the simulator what happened to the guests.
//
// Each seed is a world of two agents, a simulated cluster and a repository; all worlds share an etcd of three members. A person pushes changes that create,
// change and destroy guests. While the leader works on them, it is killed, stopped beyond its lease and resumed, cut off from etcd, or ended; or a member of
// etcd is stopped. The other agent must take over and converge, and each effect must have happened exactly as often as in a world without a disturbance.
//
// Start with ha_test.go; world_test.go has what belongs to one seed. ../README.md describes how to run the tests.
package ha
