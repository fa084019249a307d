package preflight

import (
	"maps"
	"slices"

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
