// Package ownership decides whether a live guest is the guest that the agent owns.
//
// Three things identify an owned guest: the record in the journal (journal.Owned), the marker, which is a tag on the guest, and for a virtual
// machine its SMBIOS uuid. The agent changes a guest only if they agree. See docs/adr/0003-ownership-record-tag-and-uuid.md.
//
// The functions in the order of use:
//
//   - NewRecord draws a random identity for a guest that the agent will create or adopt. Marker derives the tag from it, and UUID the SMBIOS uuid.
//   - ClaimNote is the description of a fresh clone, until its first configuration sets the tag.
//   - Compare compares a live guest with its record and returns Evidence. Its methods answer the questions of a plan: Conflict (may the agent
//     touch the guest?), Doubt (may it destroy the guest without an approval?), IsDifferentGuest (is the record obsolete?).
//   - Confirm completes a record when the tag was seen on the guest for the first time.
//
// Invariants:
//
//   - A name never identifies a guest, and neither does a vmid.
//   - A marker depends on cluster, vmid and identity, so a copied tag does not match the copy.
//   - The package is pure except for the random identity. The linter denies it the clock, the network and files.
//
// Start reading at Compare.
package ownership
