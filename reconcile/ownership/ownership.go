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
	_, _ = rand.Read(identity[:]) // never fails, by its documentation
	id := hex.EncodeToString(identity[:])
	return journal.Owned{
		VMID: ref.VMID, Kind: string(ref.Kind), Name: ref.Name,
		Identity: id, Tag: Marker(cluster, ref.VMID, id), UUID: uuid,
		Origin: origin, Claiming: true,
	}
}

// Marker returns the tag of an owned guest, "gitops-" and 8 hexadecimal digits. It covers the vmid, so the copy of a tag on a
// hand-made clone does not fit the clone.
func Marker(cluster string, vmid int, identity string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s", cluster, vmid, identity))
	return "gitops-" + hex.EncodeToString(sum[:4])
}

// ClaimNote is the description of a fresh clone. A clone starts with its template's tags, so until the first configuration
// this note is what tells the agent's clone from a stranger that took the vmid meanwhile.
func ClaimNote(tag string) string { return claimNotePrefix + tag }

const claimNotePrefix = "claimed by gitops-agent as "

// Noted reports whether a description is the claim note of a tag.
func HasClaimNote(description, tag string) bool {
	rest, ok := strings.CutPrefix(description, claimNotePrefix)
	return ok && tag != "" && strings.TrimSpace(rest) == tag
}

// Evidence is what ties a live guest to an ownership record.
type Evidence struct {
	HasTag         bool // the guest bears the record's tag
	HasClaimNote   bool // it bears the note of a clone that is not configured yet; once its tag was seen, anybody could write the note
	uuidMatches    bool // its SMBIOS uuid is the record's, or the record has none
	adopting       bool // the record was made for a guest that existed, and the tag is still to be set
	Creating       bool // the record was made for a guest to be created, and the tag was not seen yet
	ForeignMarkers []string
}

// Weigh compares a live guest with its ownership record.
func Compare(owned journal.Owned, got guest.Observed) Evidence {
	markers := guest.MarkerTags(guest.Tags(got.Keys["tags"].Text))
	e := Evidence{
		HasTag:      slices.Contains(markers, owned.Tag),
		uuidMatches: owned.UUID == "" || owned.UUID == guest.SMBIOSUUID(got),
		adopting:    owned.Claiming && owned.Origin == journal.Adopted,
		Creating:    owned.Claiming && owned.Origin == journal.Created,
	}
	e.HasClaimNote = e.Creating && HasClaimNote(got.Keys["description"].Text, owned.Tag)
	for _, m := range markers {
		if m != owned.Tag {
			e.ForeignMarkers = append(e.ForeignMarkers, m)
		}
	}
	return e
}

// Conflict returns why the live guest is not the one of the record, or "".
//
// A virtual machine whose uuid fits may lose its tag: that is drift. A container has no uuid, so without its tag nothing
// tells it from a stranger that was given the vmid.
func (e Evidence) Conflict(kind guest.Kind) string {
	switch {
	case !e.uuidMatches:
		return "its SMBIOS uuid is not the recorded one: the vmid was given to another guest, or somebody changed the uuid"
	case e.HasTag || e.HasClaimNote || e.adopting:
		return ""
	case e.Creating:
		return "it appeared under this vmid while the agent was to create its own guest there"
	case len(e.ForeignMarkers) > 0:
		return fmt.Sprintf("it bears the marker %s of another guest", e.ForeignMarkers[0])
	case kind == guest.Container:
		return "its ownership tag is gone, and a container has nothing else to be known by"
	default:
		return ""
	}
}

// Lacks names what would have to be on the guest for it to be known by its record again.
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

// Stranger reports whether the guest is certainly not the one of the record: another uuid, or one that appeared in place of a
// guest that the agent never got to make.
func (e Evidence) IsDifferentGuest() bool {
	return !e.HasTag && !e.HasClaimNote && (!e.uuidMatches || e.Creating)
}

// certain reports whether record, tag and uuid agree, which destroying without an approval needs.
func (e Evidence) certain() bool { return e.HasTag && e.uuidMatches && !e.adopting && !e.Creating }

// Doubt returns why the guest may not be the one of the record, "" when it is for certain.
func (e Evidence) Doubt() string {
	if e.certain() {
		return ""
	}
	return "ownership record and tag do not agree"
}

// Confirmed returns the record as it is once the tag was seen on the guest, and whether that is news.
func Confirm(owned journal.Owned, got guest.Observed) (journal.Owned, bool) {
	if !owned.Claiming || !Compare(owned, got).HasTag {
		return owned, false
	}
	owned.Claiming = false
	owned.UUID = guest.SMBIOSUUID(got)
	return owned, true
}
