// Package ha disturbs real agents that share a journal in a real etcd, and counts at the simulator what happened to the guests.
//
// Each seed is a world of two agents, a simulated cluster and a repository; the worlds share an etcd of three members, except those that break a member. A
// person pushes changes that create, change and destroy guests. While the leader works on them, one of the disturbances of disturbances_test.go happens to the
// leader, to the standby, to both or to etcd. The agents must converge, the standby must find nothing to do either, and each effect must have happened exactly as
// often as in a world without a disturbance. After a fault of the standby the leader ends, so that the standby has to lead.
//
// The agents are built with a clock that a test sets (package gooverlay): the wall clock of one agent jumps, and the monotonic clock goes on. With -ha-settle, both
// pass for guests whose last call had no reply, until the agent may decide what became of it; without, the world ends and counts these guests.
//
// Start with ha_test.go; world_test.go has what belongs to one seed, calls_test.go finds late calls, and etcd_test.go breaks an etcd of its own.
// ../README.md describes how to run the tests.
package ha
