package observe

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// vmlist is one reading of Proxmox's own list of guests, which a cluster node shows as /etc/pve/.vmlist: where each guest is, and a
// version that rises with every change of its configuration file, by whatever route. It says nothing of run states.
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

// parseVMList reads the list. Entries of kinds that the agent does not know are left out; anything else that is not as it should be
// is an error, since a list that is believed spares its guests a reading.
//
// Source: pmxcfs, {"version": 12, "ids": {"100": {"node": "pve1", "type": "qemu", "version": 7}}}; no "ids" where there is no guest.
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
			return vmlist{}, fmt.Errorf("parse list of guests: %q is no vmid", id)
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

// restartedSince reports whether the versions were counted anew since an earlier reading: they only rise, unless Proxmox's cluster
// file system restarts.
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

// shows reports whether the list has the guest where the inventory has it.
func (l vmlist) shows(row cluster.Row) bool {
	entry, there := l.guests[row.VMID]
	return there && entry.node == row.Node && entry.kind == row.Kind
}
