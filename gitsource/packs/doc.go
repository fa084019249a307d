// Package packs reads git objects from packs that others may have written: from the packs of a repository (Set), and from a pack that a remote sends (Receive).
// Memory and time are bounded for every content of the bytes: nothing is allocated for a size that they declare before that size is compared with a limit, indexes
// stay on disk, and deltas are applied while they are unpacked.
//
// Receive finds the hash of each object, and that the pack is complete. Set.Read does not check that an object has the hash by which it was found. The caller does.
//
// go-git is not used for packs, because it unpacks an object to its end, also beyond the size that it declares, unpacks a delta base of any size, and has what it needs of
// all objects in memory.
//
// Source of the formats: gitformat-pack(5).
package packs
