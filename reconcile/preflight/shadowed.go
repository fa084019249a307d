package preflight

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/order"
)

// ofOrders are the privileges on a guest that orders need and manifests may not.
var ofOrders = []string{"VM.Backup", "VM.Migrate", "VM.PowerMgmt", "VM.Snapshot"}

// Shadowed returns the paths of guests on which the token lacks a privilege for orders that it has on a path above, sorted: a role on a path replaces all roles that the same
// user or token has above. It is a warning, since a person may want that.
//
// Source: PVE::AccessControl roles.
func Shadowed(granted Granted) []Unresolved {
	var found []Unresolved
	paths := slices.Collect(maps.Keys(granted))
	if _, listed := granted["/vms"]; !listed {
		paths = append(paths, "/vms") // NoAccess, or a role without a privilege on guests
	}
	slices.Sort(paths)
	for _, at := range paths {
		if at != "/vms" && !strings.HasPrefix(at, "/vms/") {
			continue
		}
		above := path.Dir(at)
		for granted[above] == nil && above != "/" {
			above = path.Dir(above)
		}
		var lacks []string
		for _, p := range ofOrders {
			if _, own := granted[at][p]; !own && granted[above][p] {
				lacks = append(lacks, p)
			}
		}
		if len(lacks) > 0 {
			found = append(found, Unresolved{
				What: "access", Name: at, Warning: true,
				Problem: "a role on this path replaces those on " + above + ", so the token lacks " + strings.Join(lacks, ", ") + " here, and Proxmox refuses orders that need it",
				Hint:    "give the token all of its roles on " + at + ": pveum acl modify " + at + " --tokens TOKEN --roles ROLE,ROLE",
			})
		}
	}
	return found
}

// LackedByOrder returns the privilege that the token lacks for an order about a guest, "VM.Backup on /vms/201", "" if it lacks none.
func LackedByOrder(r order.Request, vmid int, granted Granted) string {
	at := "/vms/" + strconv.Itoa(vmid)
	switch r.Op { //nolint:exhaustive // the others change the run state
	case cluster.OpBackup:
		if need := granted.needed(at, "VM.Backup"); need != "" {
			return need
		}
		return granted.needed("/storage/"+r.Params[order.KeyStorage], "Datastore.AllocateSpace")
	case cluster.OpSnapshot, cluster.OpDeleteSnapshot:
		return granted.needed(at, "VM.Snapshot")
	case cluster.OpRollback:
		return granted.needed(at, "VM.Snapshot", "VM.Snapshot.Rollback")
	case cluster.OpMigrate:
		return granted.needed(at, "VM.Migrate")
	}
	return granted.needed(at, "VM.PowerMgmt")
}
