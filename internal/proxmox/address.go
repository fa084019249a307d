package proxmox

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// address identifies the configuration of a guest. The zero address means no guest.
type address struct {
	kind guest.Kind
	node string
	vmid int
}

func addressOf(row cluster.Row) address {
	return address{kind: row.Kind, node: row.Node, vmid: row.VMID}
}

// check rejects an address whose path would not be the path of a guest.
func (a address) check() error {
	switch {
	case !a.kind.IsGuest():
		return fmt.Errorf("kind %q is neither virtual machine nor container", string(a.kind))
	case a.vmid < 100 || a.vmid > 999999999:
		return fmt.Errorf("vmid %d is outside 100 to 999999999", a.vmid)
	}
	return checkNode(a.node)
}

// path returns the guest's path below /api2/json.
func (a address) path() string {
	return "/nodes/" + a.node + "/" + a.kind.API() + "/" + strconv.Itoa(a.vmid)
}

// isMissing reports whether a text of Proxmox states that the node has no such guest. A text about another guest does not: a list of
// guests can fail because another guest is destroyed at the same time.
//
// Source: recorded from PVE 9.2.
func (a address) isMissing(text string) bool {
	folder := "qemu-server"
	if a.kind == guest.Container {
		folder = "lxc"
	}
	return strings.Contains(text, fmt.Sprintf("Configuration file 'nodes/%s/%s/%d.conf' does not exist", a.node, folder, a.vmid)) ||
		strings.Contains(text, fmt.Sprintf("unable to find configuration file for VM %d on node '%s'", a.vmid, a.node))
}

// String returns "qemu/100 on pve1".
func (a address) String() string { return fmt.Sprintf("%s/%d on %s", a.kind.API(), a.vmid, a.node) }

// checkNode accepts host names without dots, as Proxmox does. A node name becomes part of a path.
func checkNode(node string) error {
	for i := range len(node) {
		switch b := node[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		case b == '-' && i > 0 && i < len(node)-1:
		default:
			return fmt.Errorf("node %q is not a node name", node)
		}
	}
	if node == "" {
		return errors.New(`"" is not a node name`)
	}
	return nil
}
