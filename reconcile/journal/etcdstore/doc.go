// Package etcdstore keeps the journal in etcd, and elects the one agent that writes it.
//
// Keys below the prefix:
//
//	head                              where the journal ends, which base it begins with; replaced in the transaction of every commit
//	commits/<first record>/<part>     a commit, in parts of at most 1 MiB
//	bases/<next record>/<part>        the base that a compaction made
//	leader                            who leads; it has the leader's lease, and disappears with it
//	epoch                             how often a leader was elected, and whether the last one released its lease
//
// A transaction of the leader compares the values of leader and head with what it knows: a leader that was replaced changes nothing, and no commit follows
// another one than its writer knew. Both values are unique, so they also differ after etcd was restored from an old copy, when revisions are used again.
// Commits that do not fit into one request are stored part by part, and become visible with the head.
//
// Types, in order of use: [Client] is a connection; [Client.Elect] returns a [Leadership] when this agent is the leader; [Client.Store] is the
// [gitops-agent/reconcile/journal.Blocks] of a leader or of a reader.
package etcdstore
