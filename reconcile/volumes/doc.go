// Package volumes knows, immediately before a call that attaches, moves or deletes volumes, which guests of the cluster use these volumes. That
// includes guests that the agent does not manage, pending values, snapshots, unused volumes, linked clones and replicated copies.
//
// Source.Check answers whether a call may act on its volumes. It reads, in this order:
//
//   - the frame: inventory, nodes, storages, replication jobs, and whether the token may see every guest (frame.go)
//   - the references of every guest on the nodes that can access the volumes (references.go). Snapshots are read again only if the digest of the
//     guest's configuration changed.
//   - the inventory again, and with it every guest that changed meanwhile (recheck.go)
//   - what the storages list about the volumes (stored.go)
//
// Frame and references serve every call that becomes ready within Window after their reading began, so ten destroys cost one reading of the
// guests. While a call acts on a volume, the volume is reserved (reservation.go): no other call of this agent passes the check for it.
//
// The verdict is pure (verdict.go). A refusal is an InUseError or an UnknownError (errors.go): what cannot be read is not assumed to be unused.
//
// Proxmox has no lock across guests, so a reference that a person makes after the guest was read is not noticed. docs/adr/0016 has the measured
// interval. Start reading at Source.Check in check.go.
package volumes
