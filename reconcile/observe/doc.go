// Package observe holds the newest reading of every guest, and decides which guests to read next.
//
// Full readings are cheap, and every other source misses changes. So an Observer takes one inventory in each tick and sweeps through full
// readings of all guests. The inventory, the vmlist file and the engine only trigger readings; no decision rests on them.
//
// In order of use:
//
//   - ReadGuest reads one guest. The observer, lanes and crash recovery all read guests through it.
//   - Find looks for a guest where the inventory lists it. Only the cluster's own answer for the vmid makes a guest Gone.
//   - Observer.Begin starts a round (round.go): the list of guests, then the guests that are due, changed ones first (sweep.go), then the oldest
//     readings. Its calls run beside the engine, and each node has readers of its own (nodes.go), so that a slow reply delays nothing else.
//   - Observer.Take processes the replies that have arrived. Observer.Observe is a round and the wait for all of its replies.
//   - ReadAll reads all guests once, for commands. A CountingReader tells them how far it is.
//   - Observer.Learn takes the readings of lanes.
//   - Observer.Snapshot returns everything that was read, for the plan.
//
// The vmlist file (vmlist.go, vmlist_file.go, vmlist_watch.go) is Proxmox's own list of guests with a version of each configuration. It
// makes the sweep skip unchanged guests, and is distrusted as soon as one reading contradicts it.
//
// Start reading at Observer.Begin. The package does not write to the cluster: it has a cluster.Reader.
package observe
