package preflight

import (
	"cmp"
	"path"
	"slices"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/intake"
)

// Granted is what a token may do: privileges by path ("/vms/100", "VM.Audit"), with the word on whether they also hold below that path.
// A path on which the token may do nothing is not there.
//
// Source: PVE API, GET /access/permissions.
type Granted map[string]map[string]bool

// alwaysListed are the paths that Proxmox lists whenever the token may do anything there. It also lists every path that somebody's access
// control list names, and the guests and storages of pools.
//
// Source: PVE::RPCEnvironment get_effective_permissions.
var alwaysListed = []string{"/", "/access", "/access/groups", "/nodes", "/pool", "/sdn", "/storage", "/vms"}

// Allows reports whether the token has a privilege on an object. One that is not listed has what the nearest listed path hands down: a
// path hands down either its own privileges or, where none of these go further, those from above. A path that is barred to the token with
// all that it would inherit is not listed either, and is taken for one that inherits. "/vms" stands for a guest without a vmid, which has
// what is handed down from there.
func (g Granted) Allows(object, privilege string) bool {
	object = path.Clean(object)
	if object != "/vms" {
		if own, listed := g[object]; listed {
			_, has := own[privilege]
			return has
		}
		object = path.Dir(object)
	}
	for at := object; ; at = path.Dir(at) {
		own, listed := g[at]
		barred := !listed && slices.Contains(alwaysListed, at)
		switch {
		case own[privilege]:
			return true
		case propagates(own), barred, at == "/", at == ".":
			return false
		}
	}
}

func propagates(privileges map[string]bool) bool {
	for _, further := range privileges {
		if further {
			return true
		}
	}
	return false
}

// Cause is what asks for something: a guest's key, and the manifest line.
type Cause struct {
	Guest  guest.Ref
	Key    string // a native key, or a word such as source; empty for the agent itself
	Origin guest.Origin
}

// MissingPrivilege is a privilege that guests need and the token has not.
type MissingPrivilege struct {
	Path      string
	Privilege string // guest.RootPAM where no token can do it
	Or        string // another privilege that would do; "" is none
	OrPath    string // another path where it would do; "" is none
	Entry     string // path of the Grant that ends it; "" where no token can do it
	For       []Cause
}

// MissingPrivileges compares what guests and the agent itself need with what the token may do, sorted by path and privilege. Keys that no token may
// write are among them, with guest.RootPAM as the privilege.
func MissingPrivileges(guests []guest.Desired, granted Granted) []MissingPrivilege {
	found := make(map[[2]string]*MissingPrivilege)
	note := func(n guest.Need, ref guest.Ref) {
		if isMet(n, granted) {
			return
		}
		at := [2]string{n.Path, n.Privilege}
		if found[at] == nil {
			found[at] = &MissingPrivilege{Path: n.Path, Privilege: n.Privilege, Or: n.Or, OrPath: n.OrPath}
			if n.Privilege != guest.RootPAM {
				found[at].Entry = entryFor(n.Path, granted)
			}
		}
		found[at].For = append(found[at].For, Cause{ref, n.Key, n.Origin})
	}
	for _, n := range ownNeeds() {
		note(n, guest.Ref{})
	}
	for _, d := range guests {
		for _, n := range guest.Privileges(d) {
			note(n, d.Ref)
		}
	}
	lacks := make([]MissingPrivilege, 0, len(found))
	for _, l := range found {
		lacks = append(lacks, *l)
	}
	slices.SortFunc(lacks, func(a, b MissingPrivilege) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Privilege, b.Privilege))
	})
	return lacks
}

// isMet reports whether the token has what is needed, in one of the ways that do.
func isMet(n guest.Need, granted Granted) bool {
	if n.Privilege == guest.RootPAM {
		return false
	}
	for _, at := range []string{n.Path, n.OrPath} {
		for _, privilege := range []string{n.Privilege, n.Or} {
			if at != "" && privilege != "" && granted.Allows(at, privilege) {
				return true
			}
		}
	}
	return false
}

// ownNeeds are the agent's own, whatever the manifests say: it asks for quorum before it writes, looks for tasks whose reply was lost, and
// keeps the floor of accepted revisions in a pool.
func ownNeeds() []guest.Need {
	return []guest.Need{
		{Path: "/", Privilege: "Sys.Audit"},
		{Path: "/pool/" + intake.FloorPool, Privilege: "Pool.Allocate"},
		{Path: "/pool/" + intake.FloorPool, Privilege: "Pool.Audit"},
	}
}
