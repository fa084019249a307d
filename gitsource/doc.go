// Package gitsource fetches the commits of one branch and reads them. Nothing it returns is trusted: it hands out the
// bytes that a commit id names, and package verify decides whether they may change the cluster.
//
// A Source keeps a bare repository on disk, with the full history of one branch and no work tree. Fetch asks its
// remotes in order (https, ssh or file) and takes the first that can serve the branch. What arrives is distrusted from
// the first byte: it is bounded while it is read, parsed in this goroutine under recover, and checked to be complete
// before any of it enters the store. A ref moves last, so a fetch that is cut short leaves only what was there before.
// A store in which an object cannot be read any more is cloned anew beside the old one, which stays in use until the
// clone is whole.
//
// A Repository reads objects as they are stored and checks each against its id (SHA-1 with collision detection).
// Trees are read straight from the object store, entry by entry, under rules about modes, names and sizes; symbolic
// links and submodules are errors, and outside the wanted paths nothing is read.
//
// # What is bounded and what is not
//
// A fetch reads at most Options.MaxFetchBytes from a remote, ref advertisement included, whatever the transport. One
// object may inflate to 128 MiB at most, checked before it is unpacked, for deltas too, and a pack may hold 2,000,000
// objects. The memory that unpacking takes does not follow the size of the pack: it is some 100 MiB of caches, about
// 1 KiB an object, and the largest object with its delta base. Processor time is bounded by Options.Timeout alone.
//
// What is not bounded: the git program behind a file remote takes the memory and time it likes, and the store on disk
// grows with all that was ever fetched.
//
// Limits of the git side: SHA-1 repositories only; no partial or shallow fetches; protocol version 0 without
// multi_ack, which a server must be able to speak.
package gitsource
