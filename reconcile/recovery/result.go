package recovery

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/ownership"
)

// Verdict states whether a guest would be claimed, and if not, why. It is a label of metrics.
type Verdict string

// The verdicts.
const (
	Claimable      Verdict = "claimable"
	Copied         Verdict = "copied"          // another guest or another record has the same marker
	Hidden         Verdict = "hidden"          // the token may not see the guest
	NoManifest     Verdict = "no-manifest"     // no manifest names the guest
	NoVMID         Verdict = "no-vmid"         // the manifest names no vmid
	NotRead        Verdict = "not-read"        // the guest was not read yet
	OtherKind      Verdict = "other-kind"      // the manifest names another kind of guest
	OtherName      Verdict = "other-name"      // the manifest names another guest
	OtherRecord    Verdict = "other-record"    // the vmid has a record of another guest
	OtherUUID      Verdict = "other-uuid"      // the SMBIOS uuid contradicts the manifest, or another guest has it
	PartlyCreated  Verdict = "partly-created"  // a call is still creating the guest, or left it incomplete
	SeveralMarkers Verdict = "several-markers" // the guest has more than one marker
)

// String describes the guest and its evidence: "VirtualMachine web-1 (201) on pve1, marker gitops-0011aabb, uuid 6ab3…, claimable: …".
func (g Guest) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s (%d)", g.Kind, g.Name, g.VMID)
	for _, part := range []struct{ word, value string }{{" on ", g.Node}, {", marker ", g.Marker}, {", uuid ", g.UUID}, {", manifest ", g.Manifest}} {
		if part.value != "" {
			text.WriteString(part.word + part.value)
		}
	}
	text.WriteString(", " + string(g.Verdict) + ": " + g.Message)
	if g.Hint != "" {
		text.WriteString(" (" + g.Hint + ")")
	}
	return text.String()
}

// Verdicts lists every verdict, for metrics that start at zero.
func Verdicts() []Verdict {
	return []Verdict{
		Claimable, Copied, Hidden, NoManifest, NoVMID, NotRead, OtherKind, OtherName, OtherRecord, OtherUUID, PartlyCreated, SeveralMarkers,
	}
}

// Guest is a guest that has a marker and no record, with the evidence.
type Guest struct {
	Kind     guest.Kind `json:"kind"`
	VMID     int        `json:"vmid"`
	Name     string     `json:"name"` // in Proxmox
	Node     string     `json:"node,omitempty"`
	Manifest string     `json:"manifest,omitempty"` // the label of the manifest that names its vmid or its name
	Marker   string     `json:"marker,omitempty"`
	UUID     string     `json:"uuid,omitempty"` // SMBIOS uuid of a virtual machine
	Verdict  Verdict    `json:"verdict"`
	Message  string     `json:"message"`        // for people
	Hint     string     `json:"hint,omitempty"` // what to do about a guest that is not claimed
}

// Result is every guest that has a marker and no record, sorted by vmid.
type Result struct {
	Digest string  `json:"digest,omitempty"` // of the guests that would be claimed; "" if there are none
	Guests []Guest `json:"guests"`
}

// Found is a Result with what its records need.
type Found struct {
	Result
	wanted map[int]guest.Desired // the guests that would be claimed, by vmid
	live   map[int]guest.Observed

	Uncounted []string // why approvals that name the digest do not count, for people
}

// Claims returns the guests that would be claimed.
func (r Result) Claims() []Guest {
	return slices.DeleteFunc(slices.Clone(r.Guests), func(g Guest) bool { return g.Verdict != Claimable })
}

// Of returns the guest with a vmid, and whether the result has one.
func (r Result) Of(vmid int) (Guest, bool) {
	i := slices.IndexFunc(r.Guests, func(g Guest) bool { return g.VMID == vmid })
	if i < 0 {
		return Guest{}, false
	}
	return r.Guests[i], true
}

// digest returns 32 hexadecimal digits over the cluster and the guests that would be claimed, "" without such a guest. An approval names it. The node
// is not part of it, since a guest may migrate.
func digest(cluster string, claims []Guest) string {
	type claim struct {
		VMID   int        `json:"vmid"`
		Kind   guest.Kind `json:"kind"`
		Name   string     `json:"name"`
		Marker string     `json:"marker"`
		UUID   string     `json:"uuid,omitempty"`
	}
	subject := struct {
		Op      string  `json:"op"` // no operation of a step has this name
		Cluster string  `json:"cluster"`
		Claims  []claim `json:"claims"`
	}{Op: "recover", Cluster: cluster}
	for _, g := range claims {
		subject.Claims = append(subject.Claims, claim{g.VMID, g.Kind, g.Name, g.Marker, g.UUID})
	}
	if len(claims) == 0 {
		return ""
	}
	text, _ := json.Marshal(subject) // strings and numbers: it cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Records returns the records that claim the guests, at a moment. Their lifecycle counts as approve, whatever their manifests allow: the evidence is
// weaker than that of a guest that the agent created.
func (f Found) Records(state journal.State, at time.Time) []journal.Body {
	var records []journal.Body
	for _, g := range f.Claims() {
		wanted := f.wanted[g.VMID]
		owned := ownership.Recovered(wanted.Ref, g.Marker, g.UUID)
		records = append(records, owned, guard.Begin(&wanted, owned, f.live[g.VMID], state, at))
	}
	return records
}
