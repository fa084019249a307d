package preflight

import (
	"maps"
	"path"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// Grant is an entry of the access control list that adds missing privileges.
type Grant struct {
	Path       string
	Privileges []string // sorted, including those that the token has there already
	Propagate  bool     // the entry also applies below the path
}

// Grants returns the entries that add the missing privileges, sorted by path. An entry replaces what its path inherits, so each entry also names the
// privileges that the token has there already. Guests share the nearest path that lists privileges of the token; everything else has an entry on
// its own path. There is no entry for what only root@pam may do.
//
// Source: PVE::AccessControl roles.
func Grants(missing []MissingPrivilege, granted Granted) []Grant {
	wanted := make(map[string][]string)
	for _, l := range missing {
		if l.Privilege != guest.RootPAM {
			wanted[l.Entry] = append(wanted[l.Entry], l.Privilege)
		}
	}
	grants := make([]Grant, 0, len(wanted))
	for _, at := range slices.Sorted(maps.Keys(wanted)) {
		privileges := wanted[at]
		if at != "/" { // nothing is inherited from above, and privileges on / are for the cluster only
			privileges = append(privileges, granted.at(at)...)
		}
		slices.Sort(privileges)
		grants = append(grants, Grant{Path: at, Privileges: slices.Compact(privileges), Propagate: at != "/"})
	}
	return grants
}

// checkedOn lists the prefixes of the privileges that Proxmox checks on each kind of object. Other privileges have no effect there.
//
// Source: PVE::RPCEnvironment compute_api_permission.
var checkedOn = map[string][]string{
	"vms": {"VM.", "Permissions."}, "storage": {"Datastore.", "Permissions."}, "sdn": {"SDN.", "Permissions."}, "nodes": {"Sys.", "Permissions."},
	"mapping": {"Mapping.", "Permissions."}, "pool": {"Pool.", "VM.", "Datastore.", "Permissions."},
}

// isChecked reports whether a privilege has an effect on an object. On unknown kinds of objects all privileges have.
func isChecked(object, privilege string) bool {
	kind, _, _ := strings.Cut(strings.TrimPrefix(object, "/"), "/")
	prefixes, known := checkedOn[kind]
	return !known || slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(privilege, prefix) })
}

// at returns the privileges of the token on a path, if they have an effect there.
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

// entryFor returns the path for an entry. For a guest it is the nearest listed path, at the top /vms; for a network it is the bridge, without the
// tag.
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
