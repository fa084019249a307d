// Package queue runs work on guests: serial within a guest, parallel across guests.
//
// A Queue has one lane per vmid. Offer gives Work to a lane. A lane keeps only its newest waiting item, because every item starts by reading
// its guest again: an older item would do nothing that the newer item does not do. Work names the vmids that it holds alone (its guest, and
// the template of a clone) and the resources that it shares (nodes and storages). Limits bounds the work per Resource.
//
// Invariants:
//
//   - Two running items never hold the same vmid.
//   - At most Options.Parallel items run, and no resource exceeds its limit.
//   - Close returns after the last running item. No item starts after Close.
//   - A panic in an item ends only that item.
//
// The package is a leaf: it imports no package of this module. Start reading at Queue.
package queue
