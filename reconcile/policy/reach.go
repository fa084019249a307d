package policy

import (
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/verify/scope"
)

// Place is where the manifest of a guest, or of another object, lies. The zero Place is that of a guest that no manifest names.
type Place struct {
	File    string // in the repository
	Earlier string // the file that it left, while the policies there still apply; "" for none
	Of      guest.Ref
}

// Reach is what a policy of the repository applies to: what lies in and below its folder, and what everybody who introduced it may change. A nil Reach
// contains everything: that of a policy of the host.
type Reach struct {
	Folder  string   // of the policy's file; "." is the whole repository
	Signers []Signer // who introduced the policy; none limits nothing
}

// Signer is a signer with the scope of its entry when the policy was accepted.
type Signer struct {
	Name   string
	Paths  []string // none for every file
	Guests []string // patterns of labels; none for every label
}

// Contains reports whether the policy applies to what lies at a place.
func (r *Reach) Contains(p Place) bool {
	return r == nil || r.containsFile(p.File, p.Of) || r.containsFile(p.Earlier, p.Of)
}

func (r *Reach) containsFile(file string, of guest.Ref) bool {
	if file == "" || !isWithin(file, r.Folder) {
		return false
	}
	for _, s := range r.Signers {
		if !scope.HasPath(s.Paths, file) || len(s.Guests) > 0 && !scope.MatchesAny(s.Guests, of.Label()) {
			return false
		}
	}
	return true
}

// isWithin reports whether a file or a folder lies in a folder or is the folder.
func isWithin(file, folder string) bool {
	return folder == "." || file == folder || strings.HasPrefix(file, folder+"/")
}
