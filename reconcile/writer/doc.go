// Package writer makes sure that one agent writes to the cluster at a time.
//
// The cluster itself says which one: the comment of the pool [Pool] contains a number and a nonce. Each process draws a nonce. Before its first
// write it puts the next number with its nonce into the comment, waits, and reads the comment again ([Writer.Claim]). From then on it reads the comment
// again before a cycle that writes, and before each call unless the newest reading is younger than [Recent] ([Writer.Confirm]). A nonce that this state
// directory never stored is another agent's: the process is then superseded, and stays so until a person starts an agent with --take-over.
//
// The journal stores each nonce before the comment contains it. So the next process on the same state directory recognises the nonce of its
// predecessor, however that process ended, and claims again without a person. The lock of the state directory excludes that the predecessor still runs.
//
// The comment also contains the floor ([Floor]): the newest revision that was ever accepted. Package intake decides what follows from it. All
// readings and writes of the comment go through [Writer], because each write replaces the whole comment.
//
// Proxmox cannot compare and set. docs/adr/0014-one-writer.md describes which races the waits exclude, and which one remains.
package writer
