package preflight

import (
	"path"
	"slices"
	"strings"
)

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

// Granted is the privileges of a token: path ("/vms/100") -> privilege ("VM.Audit") -> whether it propagates to paths below. A path without
// privileges is missing.
//
// Source: PVE API, GET /access/permissions.
type Granted map[string]map[string]bool

// alwaysListed are the paths that Proxmox always lists if the token has a privilege there. It also lists every path in an access control list, and
// the guests and storages of pools.
//
// Source: PVE::RPCEnvironment get_effective_permissions.
var alwaysListed = []string{"/", "/access", "/access/groups", "/nodes", "/pool", "/sdn", "/storage", "/vms"}

// Allows reports whether the token has a privilege on an object. A path that is not listed inherits from the nearest listed path above. A path
// propagates its own privileges or, if none of them propagates, the privileges from above. A path on which the token explicitly has no access is not
// listed either, and is assumed to inherit. The path "/vms" stands for a guest without a vmid, which inherits from there.
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

// IsReadOnly reports whether the token may only read: it has no privilege but those to audit.
func (g Granted) IsReadOnly() bool {
	for _, privileges := range g {
		for p := range privileges {
			if !strings.HasSuffix(p, ".Audit") {
				return false
			}
		}
	}
	return true
}

func propagates(privileges map[string]bool) bool {
	for _, further := range privileges {
		if further {
			return true
		}
	}
	return false
}

// needed returns the privilege that is missing on an object, "Sys.Audit on /nodes", or "" if the token has one of the privileges. It names the first one.
func (g Granted) needed(object string, privileges ...string) string {
	if slices.ContainsFunc(privileges, func(p string) bool { return g.Allows(object, p) }) {
		return ""
	}
	return privileges[0] + " on " + object
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
