package preflight

import (
	"maps"
	"path"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// Grant is an entry of the access control list that would give the token what it lacks.
type Grant struct {
	Path       string
	Privileges []string // sorted; those that the token has there already are among them
	Propagate  bool     // the entry also counts below the path
}

// Grants returns the entries that would end lacks, sorted by path. An entry replaces what its path inherits, so each names again what the
// token has there. Guests are granted together, where the token's privileges are listed; everything else on its own path. What only root@pam
// may do has none.
//
// Source: PVE::AccessControl roles.
func Grants(lacks []MissingPrivilege, granted Granted) []Grant {
	wanted := make(map[string][]string)
	for _, l := range lacks {
		if l.Privilege != guest.RootPAM {
			wanted[l.Entry] = append(wanted[l.Entry], l.Privilege)
		}
	}
	grants := make([]Grant, 0, len(wanted))
	for _, at := range slices.Sorted(maps.Keys(wanted)) {
		privileges := wanted[at]
		if at != "/" { // above that is nothing to inherit, and what is asked for there is about the cluster alone
			privileges = append(privileges, granted.at(at)...)
		}
		slices.Sort(privileges)
		grants = append(grants, Grant{Path: at, Privileges: slices.Compact(privileges), Propagate: at != "/"})
	}
	return grants
}

// checkedOn lists the privileges that Proxmox asks for on a kind of object, by their beginnings. What a token has beyond them there is of no use.
//
// Source: PVE::RPCEnvironment compute_api_permission.
var checkedOn = map[string][]string{
	"vms": {"VM.", "Permissions."}, "storage": {"Datastore.", "Permissions."}, "sdn": {"SDN.", "Permissions."}, "nodes": {"Sys.", "Permissions."},
	"mapping": {"Mapping.", "Permissions."}, "pool": {"Pool.", "VM.", "Datastore.", "Permissions."},
}

// isChecked reports whether a privilege counts on an object. Of kinds that nobody knows here, all do.
func isChecked(object, privilege string) bool {
	kind, _, _ := strings.Cut(strings.TrimPrefix(object, "/"), "/")
	prefixes, known := checkedOn[kind]
	return !known || slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(privilege, prefix) })
}

// at returns what the token may do on a path, as far as it counts there.
func (g Granted) at(object string) []string {
	var list []string
	for _, privileges := range g {
		for p := range privileges {
			if _, own := g[object][p]; isChecked(object, p) && (own || g.Allows(object, p)) {
				list = append(list, p)
			}
		}
	}
	return list
}

// entryFor returns the path to put an entry on. Of guests that is the nearest one that is listed, /vms at the top; of a network the bridge,
// whatever the tag.
func entryFor(object string, granted Granted) string {
	switch {
	case strings.HasPrefix(object, "/vms/"):
		if _, listed := granted[object]; !listed {
			return "/vms"
		}
	case strings.HasPrefix(object, "/sdn/") && strings.Count(object, "/") > strings.Count("/sdn/zones/zone/bridge", "/"):
		return path.Dir(object)
	}
	return object
}
