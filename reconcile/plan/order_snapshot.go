package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/order"
)

// SnapshotOf describes the existing snapshot that an order is about, as the digest of its step contains it: "s1 2026-11-22T09:26:08Z", since another snapshot
// with the same name has another time, and what a rollback changes in the configuration. Both are empty if there is no such snapshot.
func SnapshotOf(r order.Request, live guest.Observed) (text string, restores []string) {
	section, exists := live.Snapshots.Section(r.Params[order.KeyName])
	if !exists {
		return "", nil
	}
	if r.Op == cluster.OpRollback {
		restores = restoredBy(section, live)
	}
	return section.Name + " " + takenAt(section), restores
}

// hasMemory reports whether the existing snapshot that an order is about contains the memory of the guest: after a rollback to it the guest runs.
//
// Source: PVE::QemuConfig __snapshot_rollback_vm_start.
func hasMemory(r order.Request, live guest.Observed) bool {
	section, _ := live.Snapshots.Section(r.Params[order.KeyName])
	return section.Keys["vmstate"] != ""
}

// ofSnapshot are the keys of a snapshot's section that a rollback does not bring back, and the protection, which a guest that has it has after the rollback
// too: the agent sets it again.
//
// Source: PVE::AbstractConfig __snapshot_apply_config.
var ofSnapshot = map[string]bool{
	"snaptime": true, "snapstate": true, "vmstate": true, "description": true, "parent": true, "digest": true, "lock": true, "vmgenid": true,
	protectionKey: true, "runningmachine": true, "runningcpu": true, "running-nets-host-mtu": true,
}

// restoredBy describes what a rollback would change in the configuration, sorted: the tags with their values, the other keys by name, since a value may be a
// secret.
func restoredBy(section guest.SnapshotSection, live guest.Observed) []string {
	keys := maps.Clone(section.Keys)
	for key := range live.Keys {
		if _, both := keys[key]; !both {
			keys[key] = ""
		}
	}
	var list []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		now, then := strings.TrimSpace(live.Keys[key].Text), strings.TrimSpace(section.Keys[key])
		switch {
		case ofSnapshot[key] || strings.HasPrefix(key, "unused") || now == then:
		case key == "tags":
			list = append(list, fmt.Sprintf("%s: %q -> %q", key, now, then))
		default:
			list = append(list, key)
		}
	}
	return list
}
