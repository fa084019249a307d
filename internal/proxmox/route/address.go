package route

import (
	"errors"
	"fmt"
	"strconv"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Address identifies the configuration of a guest. The zero address means no guest.
type Address struct {
	Kind guest.Kind
	Node string
	VMID int
}

// AddressOf returns the address of the guest of a row.
func AddressOf(row cluster.Row) Address {
	return Address{Kind: row.Kind, Node: row.Node, VMID: row.VMID}
}

// Check rejects an address whose path would not be the path of a guest.
func (a Address) Check() error {
	switch {
	case !a.Kind.IsGuest():
		return fmt.Errorf("kind %q is neither virtual machine nor container", string(a.Kind))
	case a.VMID < 100 || a.VMID > 999999999:
		return fmt.Errorf("vmid %d is outside 100 to 999999999", a.VMID)
	}
	return CheckNode(a.Node)
}

// Path returns the guest's path below /api2/json.
func (a Address) Path() string {
	return "/nodes/" + a.Node + "/" + a.Kind.API() + "/" + strconv.Itoa(a.VMID)
}

// String returns "qemu/100 on pve1".
func (a Address) String() string { return fmt.Sprintf("%s/%d on %s", a.Kind.API(), a.VMID, a.Node) }

// CheckNode accepts host names without dots, as Proxmox does. A node name becomes part of a path.
func CheckNode(node string) error {
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
