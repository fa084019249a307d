package guard

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// The guards of the Cluster. They are fields of its manifest, below spec.
const (
	ClusterApprovals  guest.GuardField = "guards.approvals"
	ClusterMaxDestroy guest.GuardField = "guards.maxDestroysPerDay"
)

// Weakening is one change of a manifest that would weaken a guard in force: of the Cluster, of one or more guests, or a policy of the repository. It is held until it is approved.
type Weakening struct {
	Field    guest.GuardField
	Old, New string
	Guests   []Object     // sorted by vmid; none for a guard of the Cluster, and for a policy
	Origin   guest.Origin // the line that weakens the guard; zero if the field was removed, so that its default applies
	Why      []string     // in what New is weaker, for people; no part of the digest, since the values determine it. Empty if the values say it
	Keys     []string     // native keys that weaken it too
	Exact    string       // what the values contain beyond their texts; "" if nothing
	Digest   string       // 32 hexadecimal digits, which an approval names
}

// Object is a guest whose guard would become weaker.
type Object struct {
	guest.Ref
	Identity string
}

// sealed returns the weakening with its digest. The digest contains neither the commit nor the line: the same weakening in another commit is the same
// decision. Another guest, value or identity is another decision.
func (w Weakening) sealed(cluster string) Weakening {
	type object struct {
		VMID     int    `json:"vmid"`
		Identity string `json:"identity"`
	}
	slices.SortFunc(w.Guests, func(a, b Object) int { return cmp.Compare(a.VMID, b.VMID) })
	subject := struct {
		Weakens string   `json:"weakens"`
		Cluster string   `json:"cluster"`
		Guests  []object `json:"guests,omitempty"`
		Old     string   `json:"old"`
		New     string   `json:"new"`
		Exact   string   `json:"exact,omitempty"`
	}{string(w.Field), cluster, nil, w.Old, w.New, w.Exact}
	for _, o := range w.Guests {
		subject.Guests = append(subject.Guests, object{o.VMID, o.Identity})
	}
	text, _ := json.Marshal(subject) // marshalling strings and numbers cannot fail
	sum := sha256.Sum256(text)
	w.Digest = hex.EncodeToString(sum[:16])
	return w
}

// maxNamed bounds the guests and the reasons that a text names.
const maxNamed = 5

// String returns "lifecycle.destroy: deny -> allow".
func (w Weakening) String() string {
	text := fmt.Sprintf("%s: %s -> %s", w.Field, w.Old, w.New)
	if len(w.Why) == 0 {
		return text
	}
	why := w.Why[:min(len(w.Why), maxNamed)]
	if more := len(w.Why) - len(why); more > 0 {
		why = append(slices.Clone(why), fmt.Sprintf("%d more", more))
	}
	return text + " (" + strings.Join(why, "; ") + ")"
}

// Others names the guests of the weakening other than one, "" if there are none: "the same line weakens it for VirtualMachine/web-2 (202)".
func (w Weakening) Others(vmid int) string {
	var names []string
	for _, o := range w.Guests {
		if o.VMID != vmid {
			names = append(names, o.String())
		}
	}
	if len(names) == 0 {
		return ""
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed:maxNamed], fmt.Sprintf("%d more", more))
	}
	return "together with " + strings.Join(names, ", ")
}
