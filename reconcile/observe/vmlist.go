package observe

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// vmlist is one reading of /etc/pve/.vmlist, Proxmox's own list of guests on a cluster node: the node of each guest, and a version that
// rises with every change of its configuration file, no matter who made the change. It does not contain run states.
type vmlist struct {
	version uint64 // of the whole list
	guests  map[int]listed
}

// listed is a guest's entry.
type listed struct {
	kind    guest.Kind
	node    string
	version uint64
}

// parseVMList parses the list. It omits entries of unknown kinds. Any other deviation from the format is an
// error, since guests of a list that is used are not read.
//
// Source: pmxcfs, {"version": 12, "ids": {"100": {"node": "pve1", "type": "qemu", "version": 7}}}; without guests there is no "ids".
func parseVMList(text []byte) (vmlist, error) {
	var file struct {
		Version *uint64 `json:"version"`
		IDs     map[string]struct {
			Node    string  `json:"node"`
			Type    string  `json:"type"`
			Version *uint64 `json:"version"`
		} `json:"ids"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return vmlist{}, fmt.Errorf("parse list of guests: %w", err)
	}
	if file.Version == nil {
		return vmlist{}, errors.New("parse list of guests: it has no version")
	}
	list := vmlist{version: *file.Version, guests: make(map[int]listed, len(file.IDs))}
	for id, entry := range file.IDs {
		vmid, err := strconv.Atoi(id)
		if err != nil || vmid <= 0 {
			return vmlist{}, fmt.Errorf("parse list of guests: %q is not a vmid", id)
		}
		if entry.Version == nil || entry.Node == "" {
			return vmlist{}, fmt.Errorf("parse list of guests: %d has no version or no node", vmid)
		}
		for _, kind := range []guest.Kind{guest.VirtualMachine, guest.Container} {
			if entry.Type == kind.API() {
				list.guests[vmid] = listed{kind: kind, node: entry.Node, version: *entry.Version}
			}
		}
	}
	return list, nil
}

// restartedSince reports whether a version is lower than in an earlier reading. Versions only rise, except that a restart of pmxcfs counts
// them from the start.
func (l vmlist) restartedSince(before vmlist) bool {
	if l.version < before.version {
		return true
	}
	for vmid, entry := range before.guests {
		if now, there := l.guests[vmid]; there && now.version < entry.version {
			return true
		}
	}
	return false
}

// agreesWith reports whether the list has the guest on the node of the inventory row, with the same kind.
func (l vmlist) agreesWith(row cluster.Row) bool {
	entry, there := l.guests[row.VMID]
	return there && entry.node == row.Node && entry.kind == row.Kind
}
