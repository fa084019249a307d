package policy

import (
	"cmp"
	"slices"

	"gitops-agent/reconcile/guest"
	"gitops-agent/verify/scope"
)

// Place is where the manifest of a guest, or of another object, lies. The zero Place is that of a guest that no manifest names.
type Place struct {
	File    string   // in the repository
	Earlier []Former // places that it left, while the policies there still apply
	Of      guest.Ref
}

// Former is a place that a manifest left: a file, and the label there, "" for the present one.
type Former struct{ File, Label string }

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
	return r == nil || r.contains(p.File, p.Of.Label()) || slices.ContainsFunc(p.Earlier, func(e Former) bool { return r.contains(e.File, cmp.Or(e.Label, p.Of.Label())) })
}

func (r *Reach) contains(file, label string) bool {
	if file == "" || !scope.IsWithin(file, r.Folder) {
		return false
	}
	for _, s := range r.Signers {
		if !scope.HasPath(s.Paths, file) || len(s.Guests) > 0 && !scope.MatchesAny(s.Guests, label) {
			return false
		}
	}
	return true
}

// Includes reports whether the reach contains every place that another one contains. It compares patterns as texts: of two that are written in different ways it
// says no.
func (r *Reach) Includes(other *Reach) bool {
	if !scope.IsWithin(other.Folder, r.Folder) {
		return false
	}
	for _, s := range r.Signers {
		if slices.ContainsFunc(s.Paths, func(p string) bool { return scope.IsWithin(other.Folder, p) }) {
			s.Paths = nil // they contain the whole folder
		}
		if !slices.ContainsFunc(other.Signers, s.includes) && (len(s.Paths) > 0 || len(s.Guests) > 0) {
			return false
		}
	}
	return true
}

// Wider returns the reaches that the policy would have if only one of its signers had introduced it, and that contain more than the present one. A policy of several signers, of whom it is
// not known who wrote what, applies only where each of them may change something.
func (r *Reach) Wider() []*Reach {
	if r == nil || len(r.Signers) < 2 {
		return nil
	}
	var wider []*Reach
	for _, s := range r.Signers {
		of := &Reach{Folder: r.Folder, Signers: []Signer{s}}
		if !r.Includes(of) && !slices.ContainsFunc(wider, func(w *Reach) bool { return w.Includes(of) }) {
			wider = append(wider, of)
		}
	}
	return wider
}

// includes reports whether the scope of a signer contains that of another one.
func (s Signer) includes(other Signer) bool {
	paths := len(s.Paths) == 0 || len(other.Paths) > 0 && !slices.ContainsFunc(other.Paths, func(p string) bool { return !scope.HasPath(s.Paths, p) })
	guests := len(s.Guests) == 0 || len(other.Guests) > 0 && !slices.ContainsFunc(other.Guests, func(g string) bool { return !slices.Contains(s.Guests, g) })
	return paths && guests
}
