package preflight

import (
	"cmp"
	"slices"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/writer"
)

// MissingPrivilege is a privilege that guests or Images need and the token does not have.
type MissingPrivilege struct {
	Path      string
	Privilege string // guest.RootPAM where no token can do it
	Or        string // another privilege that is sufficient; "" is none
	OrPath    string // another path on which it is sufficient; "" is none
	Entry     string // path of the Grant that adds it; "" if no token can have it
	For       []Cause
}

// MissingPrivileges returns the privileges that guests, Images, other objects and the agent itself need and the token does not have, sorted by path and privilege. For keys
// that no token may write the privilege is guest.RootPAM. Former are files of removed Images that are to be deleted.
func MissingPrivileges(guests []guest.Desired, images []image.Desired, former []image.Former, objects []kind.Desired, granted Granted) []MissingPrivilege {
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
	for _, d := range images {
		for _, n := range image.Privileges(d) {
			note(n, d.Ref())
		}
	}
	for _, f := range former {
		for _, n := range image.DeletionPrivileges(f.Storage) {
			note(n, f.Ref())
		}
	}
	for _, d := range objects {
		if k, known := kinds.Of(d.Kind); known {
			for _, n := range k.Privileges(d) {
				n.Origin = d.PlaceOf(n.Key)
				note(n, d.Ref())
			}
		}
	}
	missing := make([]MissingPrivilege, 0, len(found))
	for _, l := range found {
		missing = append(missing, *l)
	}
	slices.SortFunc(missing, func(a, b MissingPrivilege) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Privilege, b.Privilege))
	})
	return missing
}

// wider are privileges that contain another one, by the other one. Nothing names them as missing, because they allow more than is needed.
//
// Source: PVE API, GET /nodes/{node}/qemu/{vmid}/agent/info, permissions.
var wider = map[string]string{"VM.GuestAgent.Audit": "VM.GuestAgent.Unrestricted"}

// isMet reports whether the token has the needed privilege, or one of the alternatives.
func isMet(n guest.Need, granted Granted) bool {
	if n.Privilege == guest.RootPAM {
		return false
	}
	for _, at := range []string{n.Path, n.OrPath} {
		for _, privilege := range []string{n.Privilege, n.Or, wider[n.Privilege]} {
			if at != "" && privilege != "" && granted.Allows(at, privilege) {
				return true
			}
		}
	}
	return false
}

// ownNeeds returns the privileges that the agent needs itself: it checks the quorum before it writes, finds tasks whose reply was lost, and keeps the
// floor of accepted revisions in a pool. It must see every guest, since any guest may use a volume.
func ownNeeds() []guest.Need {
	return []guest.Need{
		{Path: "/", Privilege: "Sys.Audit"},
		{Path: "/vms", Privilege: "VM.Audit"},
		{Path: "/pool/" + writer.Pool, Privilege: "Pool.Allocate"},
		{Path: "/pool/" + writer.Pool, Privilege: "Pool.Audit"},
	}
}
