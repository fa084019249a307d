// Package packs reads git objects from the packs of a repository that may belong to somebody else. Memory and time are bounded for every content of the
// files: nothing is allocated for a size that a file declares before that size is compared with a limit, indexes stay on disk, and deltas are applied while
// they are unpacked.
//
// go-git writes packs and reads those that a remote sends. It is not used for the packs of a repository on disk, because it unpacks an object to its end,
// whatever size the object declares, unpacks a delta base of any size, and has the whole index in memory.
//
// Set.Read does not check that an object has the hash by which it was found. The caller does.
//
// Source of the formats: gitformat-pack(5).
package packs
