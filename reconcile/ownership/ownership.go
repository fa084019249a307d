package ownership

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// NewRecord returns an ownership record with a fresh random identity.
func NewRecord(cluster string, ref guest.Ref, origin journal.Origin, uuid string) journal.Owned {
	var identity [16]byte
	_, _ = rand.Read(identity[:]) // crypto/rand documents that Read never fails
	id := hex.EncodeToString(identity[:])
	return journal.Owned{
		VMID: ref.VMID, Kind: string(ref.Kind), Name: ref.Name,
		Identity: id, Tag: Marker(cluster, ref.VMID, id), UUID: uuid,
		Origin: origin, Claiming: true,
	}
}

// Recovered returns the ownership record of a guest whose record was lost, with the marker and the uuid that the guest has. The lost identity cannot
// be computed from the marker, so the record has a new identity, from which the marker does not derive.
func Recovered(ref guest.Ref, marker, uuid string) journal.Owned {
	owned := NewRecord("", ref, journal.Recovered, uuid)
	owned.Tag, owned.Claiming = marker, false
	return owned
}

// Marker returns the tag of an owned guest, "gitops-" and 8 hexadecimal digits. The tag depends on the vmid, so the tag that a clone copies
// from its template does not match the clone.
func Marker(cluster string, vmid int, identity string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s", cluster, vmid, identity))
	return "gitops-" + hex.EncodeToString(sum[:4])
}

// UUID returns the SMBIOS uuid with which the agent creates a virtual machine whose manifest names none. The uuid identifies the machine before the
// agent has read it. Proxmox draws a uuid only if the call has no key smbios1.
func UUID(cluster string, vmid int, identity string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "uuid\n%s\n%d\n%s", cluster, vmid, identity))
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // version 4, the variant of RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// ClaimNote returns the description of a fresh clone. A clone starts with its template's tags, so until its first configuration only this
// note distinguishes the agent's clone from another guest that got the vmid meanwhile.
func ClaimNote(tag string) string { return claimNotePrefix + tag }

const claimNotePrefix = "claimed by gitops-agent as "

// HasClaimNote reports whether a description is the claim note of a tag.
func HasClaimNote(description, tag string) bool {
	rest, ok := strings.CutPrefix(description, claimNotePrefix)
	return ok && tag != "" && strings.TrimSpace(rest) == tag
}

// Evidence is the result of comparing a live guest with an ownership record.
type Evidence struct {
	HasTag         bool // the guest has the record's tag
	HasClaimNote   bool // the guest has the claim note of a clone that is not configured yet. Once its tag was seen, the note proves nothing
	HasNewUUID     bool // the guest has the uuid with which it was created, and its tag was not seen yet
	HasTask        bool // nothing but the record states that a task created the guest. The list of tasks shows whether the guest was replaced since
	hasUUID        bool // the record contains a uuid
	uuidMatches    bool // the SMBIOS uuid is the record's, or the record has none
	adopting       bool // the record was made for an existing guest, and the tag is not set yet
	Creating       bool // the record was made for a guest to be created, and the tag was not seen yet
	ForeignMarkers []string
}

// Compare compares a live guest with its ownership record.
func Compare(owned journal.Owned, got guest.Observed) Evidence {
	markers := guest.Markers(got.Keys["tags"].Text)
	e := Evidence{
		HasTag:   slices.Contains(markers, owned.Tag),
		hasUUID:  owned.UUID != "",
		adopting: owned.Claiming && owned.Origin == journal.Adopted,
		Creating: owned.Claiming && owned.Origin == journal.Created,
	}
	sameUUID := owned.UUID == guest.SMBIOSUUID(got)
	e.HasNewUUID = e.Creating && e.hasUUID && sameUUID
	// The uuid of a guest that is being created may come from a newer manifest. Nobody else knows its tag yet.
	e.uuidMatches = !e.hasUUID || sameUUID || e.Creating && e.HasTag
	e.HasClaimNote = e.Creating && HasClaimNote(got.Keys["description"].Text, owned.Tag)
	e.HasTask = e.Creating && owned.Task != "" && !e.HasTag && !e.HasClaimNote && !e.hasUUID
	for _, m := range markers {
		if m != owned.Tag {
			e.ForeignMarkers = append(e.ForeignMarkers, m)
		}
	}
	return e
}

// IsNew reports whether the guest is the one that the agent has just created, although it does not have its tag yet. With HasTask it is certain only
// if the guest was not replaced since.
func (e Evidence) IsNew() bool { return !e.HasTag && (e.HasClaimNote || e.HasNewUUID || e.HasTask) }

// Conflict returns why the live guest is not the recorded guest, or "".
//
// A virtual machine with the recorded uuid may lose its tag: that is drift. A container has no uuid, and neither has a virtual machine that was
// created with SMBIOS fields and without a uuid: without its tag such a guest cannot be distinguished from another guest that got the vmid.
func (e Evidence) Conflict(kind guest.Kind) string {
	switch {
	case e.Creating && !e.HasTag && !e.IsNew():
		return "it appeared under this vmid before the agent created its own guest there"
	case !e.uuidMatches && !e.HasClaimNote:
		return "its SMBIOS uuid is not the recorded uuid: another guest has the vmid now, or the uuid was changed"
	case e.HasTag || e.IsNew() || e.adopting:
		return ""
	case len(e.ForeignMarkers) > 0:
		return fmt.Sprintf("it has the marker %s of another guest", e.ForeignMarkers[0])
	case kind == guest.Container:
		return "its ownership tag is gone, and a container has no other identification"
	case !e.hasUUID:
		return "its ownership tag is gone, and the recorded virtual machine has no SMBIOS uuid that identifies it"
	default:
		return ""
	}
}

// Missing returns which marks the guest would need to match its record again: "SMBIOS uuid UUID and its tag TAG".
func (e Evidence) Missing(owned journal.Owned) string {
	var marks []string
	if !e.uuidMatches {
		marks = append(marks, "SMBIOS uuid "+owned.UUID)
	}
	if !e.HasTag {
		marks = append(marks, "tag "+owned.Tag)
	}
	return strings.Join(marks, " and its ")
}

// IsDifferentGuest reports whether the guest is certainly not the recorded guest: it has another uuid and no mark, or it appeared under the
// vmid before the agent created its own guest.
func (e Evidence) IsDifferentGuest() bool {
	return !e.HasTag && !e.IsNew() && (!e.uuidMatches || e.Creating)
}

// IsCertain reports whether record, tag and uuid agree. Only then may the guest be destroyed without an approval.
func (e Evidence) IsCertain() bool { return e.HasTag && e.uuidMatches && !e.adopting && !e.Creating }

// Doubt returns why the guest may not be the recorded guest, "" if it certainly is. The text is part of the digest of a destroy, so it never changes.
func (e Evidence) Doubt() string {
	if e.IsCertain() {
		return ""
	}
	return "ownership record and tag do not agree"
}

// Confirm returns the record of a guest whose tag was seen, with the uuid that the guest has, and whether the record changed.
func Confirm(owned journal.Owned, got guest.Observed) (confirmed journal.Owned, changed bool) {
	if !owned.Claiming || !Compare(owned, got).HasTag {
		return owned, false
	}
	owned.Claiming, owned.Task = false, ""
	owned.UUID = guest.SMBIOSUUID(got)
	return owned, true
}
