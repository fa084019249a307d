// Package gitsource fetches the commits of one branch and reads git objects. It trusts nothing that it fetches: it returns
// the bytes that an object id names, and package verify decides whether a commit may change the cluster.
//
// # Types, in order of use
//
//   - Options and Remote state what to fetch, from where, and where to store it. Open checks them and returns a Source.
//   - Source keeps a bare repository on disk with the full history of one branch and no work tree. Source.Fetch asks its
//     remotes (https, ssh or file) in order and returns a Head from the first one that serves the branch. Source.Keep
//     protects a commit that must stay readable.
//   - Repository reads objects: Commit, Tag, Files of a tree, Notes, and Changed paths between two trees. Source.Repository returns
//     the one of the store, and OpenRepository opens any repository. Resolve finds the commit that a person names.
//   - Poller decides when to fetch.
//   - RemoteError and ErrUnreachable mean that a remote failed. ErrNotFound, ErrTooLarge, ErrNoPath and TreeError mean that a
//     read failed.
//
// # Invariants
//
//   - An object is returned only if its content has the SHA-1 of its id (with collision detection).
//   - The store is complete: if it has an object, it has every object that the object leads to. A fetch checks this before
//     the objects enter the store.
//   - A ref moves last, so an interrupted fetch changes nothing.
//   - A received pack is unpacked as a stream, by package packs. A panic while a remote's reply is read is an error of that remote.
//   - A damaged store is cloned again into a directory beside it, and stays in use until the clone is complete.
//   - Trees are read from the object store, entry by entry, under rules about modes, names and sizes. Symbolic links and
//     submodules are errors. Nothing outside the wanted paths is read.
//   - Secrets are read at each fetch and are never logged.
//
// # Limits
//
// A fetch reads at most Options.MaxFetchBytes from a remote with every transport; this includes the ref advertisement. The first pack may have at most 5,200,000
// objects, a later one 2,000,000, one with notes 200,000 and 64 MiB, and one object 1 GiB. An object is not in memory while it is received: what is needed as the base of deltas has at most 32 MiB
// there, and the rest is in files. Each object of a pack takes 40 bytes. The processor time is bounded by the bytes that a pack is unpacked to: 256 MiB and
// 2,048 times its size, at most 4 GiB for new commits. The whole history may take 64 KiB more for each object. Options.Timeout bounds both. The files of a fetch leave
// 1 GiB of the disk free, or a tenth of a smaller disk; below that, a fetch takes at most a sixteenth of what is free.
//
// A repository on disk may belong to somebody else. Package packs reads its packs: a delta base may have 32 MiB, a chain of deltas 4,095 objects, and one object
// with all its bases 1 GiB, of which at most two are in memory. A tree may have 100,000 entries, packed-refs 64 MiB, and every other file of git 1 MiB.
//
// There is no limit for the memory and time of the git program behind a file remote, and none for the size of the store,
// which grows with everything that was ever fetched. The number of its files is bounded: from 300 loose objects on they become a pack.
//
// gitsource supports only SHA-1 repositories, no partial or shallow fetches, and protocol versions 2 and 0. With version 2 a server sends only the refs that were
// asked for. Of version 0, 64 MiB of refs are read, and few are kept.
//
// # Where to start
//
// Read source.go, fetch.go and pack.go for fetching, package remote for what is said to a remote, and repository.go and files.go for reading.
package gitsource
