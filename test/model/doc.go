// Package model searches a small world exhaustively: one or two guests, two revisions, one crash, one lost reply, one person who interferes, and calls
// that wait for a slot. It has tests only.
//
// The tests drive the real lanes, with the real plan, gate, settling, ownership, volumes and journal. Only Proxmox is a model, a few lines behind
// cluster.Cluster, and so is the engine around the lanes, which decides when a guest gets a turn. Every place where another participant can act is a
// choice; the search runs each sequence of choices from the start, and leaves out what follows a state that it has seen before. docs/internals/proof.md
// states what the search covers and what it does not.
//
// TestTwoManagers searches worlds in which Proxmox's HA manager acts on the same guests. It drives the whole engine, and has a choice whenever something has changed.
//
// A counterexample is printed as a list of choices. Repeat it with go test ./test/model -run Replay -scenario NAME -choices 0,2,1.
package model
