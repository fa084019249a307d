package ownership

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
)

// NewObjectRecord returns an ownership record of an object that is no guest, with a fresh random identity and the marker that derives from it.
func NewObjectRecord(cluster string, id journal.ObjectID, name string, origin journal.Origin) journal.OwnedObject {
	var identity [16]byte
	_, _ = rand.Read(identity[:]) // crypto/rand documents that Read never fails
	text := hex.EncodeToString(identity[:])
	return journal.OwnedObject{
		Kind: id.Kind, ID: id.ID, Name: name, Identity: text, Marker: ObjectMarker(cluster, id, text), Origin: origin, Claiming: true,
	}
}

// ObjectMarker returns the marker of an owned object, which has the form of a guest's. It depends on the object, so that a copied comment proves nothing.
func ObjectMarker(cluster string, id journal.ObjectID, identity string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%s", cluster, id.Kind, id.ID, identity))
	return "gitops-" + hex.EncodeToString(sum[:4])
}

// permissions are the permissions to destroy, the weakest first.
var permissions = []guest.Permission{guest.Allow, guest.Approve, guest.Deny}

// AcceptObjects returns the records of owned objects whose manifest states a stronger lifecycle.destroy than any before, or lies in another file. A weaker lifecycle.destroy never takes
// effect on an object that exists: otherwise a signer could remove what protects the object, and later its manifest. The parameter file returns the file to record of a manifest, from
// the recorded file.
func AcceptObjects(wanted []kind.Desired, state journal.State, file func(former string, d kind.Desired) string) []journal.Body {
	var records []journal.Body
	for _, d := range wanted {
		owned, isOwned := state.Objects[journal.ObjectID{Kind: string(d.Kind), ID: d.ID}]
		destroy := StrongerDestroy(owned.Destroy, string(d.Destroy))
		isStronger := destroy != cmp.Or(owned.Destroy, string(guest.Approve))
		next := file(owned.File, d)
		if !isOwned || !isStronger && owned.File == next {
			continue
		}
		if isStronger {
			owned.Destroy = destroy
		}
		owned.File = next
		records = append(records, owned)
	}
	return records
}

// StrongerDestroy returns the stronger one of two values of lifecycle.destroy. An empty value is approve.
func StrongerDestroy(a, b string) string {
	a, b = cmp.Or(a, string(guest.Approve)), cmp.Or(b, string(guest.Approve))
	if slices.Index(permissions, guest.Permission(a)) > slices.Index(permissions, guest.Permission(b)) {
		return a
	}
	return b
}
