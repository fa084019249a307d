package affinity

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/kind"
)

// migratedPrefix begins the id of a rule that the HA manager of Proxmox VE 9 has made of a group.
//
// Source: PVE::HA::Groups migrate_groups_to_rules.
const migratedPrefix = "ha-group-"

// keyRule is the key of such a rule with its id in Proxmox. Manifest and journal know it by the id of the group.
const keyRule = "rule"

// byFormerID gives rules that Proxmox has made of groups of an agent the ids of the groups, if ids have them. The comment of such a rule has the marker of the group.
func byFormerID(list []cluster.Object, ids []string) []cluster.Object {
	isTaken := make(map[string]bool, len(list))
	for _, o := range list {
		isTaken[o.ID] = true
	}
	for i, o := range list {
		id, migrated := strings.CutPrefix(o.ID, migratedPrefix)
		_, marker := kind.SplitComment(o.Keys[keyComment])
		if migrated && marker != "" && !isTaken[id] && slices.Contains(ids, id) && !slices.Contains(ids, o.ID) {
			o.Keys[keyRule], list[i].ID = o.ID, id
		}
	}
	return list
}
