package gate

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/verify/scope"
)

// Limits are what the signers of the trust policy may touch, by entry (verify.Signer.Entry). Entries of one identity with different times have
// several. Nil Limits check nothing: the policy is not known.
type Limits map[string][]Limit

// Limit is the roles, the times and the scope of a signer, and what a signer with guests may touch outside of the manifests of these guests.
type Limit struct {
	Name    string   // of the signer
	May     []string // roles
	From    time.Time
	Until   time.Time // what is proven outside of these times does not count; zero for no bound
	Guests  []string  // patterns of kind/name; none for all guests
	Paths   []string  // folders and files; none for all files
	VMIDs   []VMIDs   // guests that the source did not create
	Sources []string  // the only sources for new guests; empty allows templates and images
}

// VMIDs is a range of vmids, both ends included.
type VMIDs struct{ First, Last int }

// trusts reports whether the signer was trusted at a time.
func (l Limit) trusts(at time.Time) bool {
	return !at.Before(l.From) && (l.Until.IsZero() || at.Before(l.Until))
}

// contains reports whether one of the ranges contains a vmid.
func (l Limit) contains(vmid int) bool {
	return slices.ContainsFunc(l.VMIDs, func(r VMIDs) bool { return r.First <= vmid && vmid <= r.Last })
}

// names reports whether the signer may change the manifest of a guest.
func (l Limit) names(label string) bool {
	return scope.MatchesAny(l.Guests, label)
}

// lists reports whether sources lists a volume or a path of the host, or all guests that a volume belongs to.
func (l Limit) lists(name string) bool {
	owners := guest.VolumeOwners(name)
	if len(owners) > 0 && !slices.ContainsFunc(owners, func(vmid int) bool { return !l.listsVMID(vmid) }) {
		return true
	}
	if strings.HasPrefix(name, "/") {
		name = path.Clean(name)
	}
	return scope.MatchesAny(l.Sources, name)
}

// listsVMID reports whether sources lists a vmid.
func (l Limit) listsVMID(vmid int) bool {
	return slices.ContainsFunc(l.Sources, func(p string) bool {
		first, last, isRange := strings.Cut(p, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		return err1 == nil && err2 == nil && from <= vmid && vmid <= to
	})
}

// listsTemplate reports whether sources lists a template, by vmid or by kind and name. The name of a guest that is not a template proves nothing.
func (l Limit) listsTemplate(row cluster.Row) bool {
	if l.listsVMID(row.VMID) {
		return true
	}
	label := guest.Ref{Kind: row.Kind, Name: row.Name}.Label()
	return row.Template && row.Name != "" && scope.MatchesAny(l.Sources, label)
}
