// Package queue runs work on objects: serial within an object, parallel across objects.
//
// A Queue has one lane per object.Key. Offer gives Work to a lane. A lane keeps only its newest waiting item, because every item starts by reading
// its object again: an older item would do nothing that the newer item does not do. Work names the objects that it holds alone (its own, and
// the template of a clone) and the resources that it shares (nodes and storages). Limits bounds the work per Resource.
//
// Invariants:
//
//   - Two running items never hold the same object.
//   - At most Options.Parallel items work, and no resource exceeds its limit. An item that only waits (WithoutSlot) does not work, and still uses its resources.
//   - Close returns after the last running item. No item starts after Close.
//   - A panic in an item ends only that item.
//
// The package knows no kind of object. Start reading at Queue.
package queue
