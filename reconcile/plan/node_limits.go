package plan

import (
	"fmt"
	"slices"
	"strconv"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/reason"
)

// swapped is how many times its memory a node may give to one machine: Linux refuses what exceeds memory and swap together, and the list has no swap.
const swapped = 2

// nodeIsTooSmall returns the hindrance of a virtual machine that gets more processors than its node has, or more than twice its memory: QEMU does not start it. The node's memory
// is in use by others, so a machine with less may not start either, which only its start shows. What is not known hinders nothing. A container with higher limits than its
// node starts.
//
// Source: qemu-server, QemuServer.pm config_to_command, "MAX N vcpus allowed per VM on this node".
func nodeIsTooSmall(d *guest.Desired, live guest.Observed, node string, inventory cluster.Inventory) Hindrance {
	at := slices.IndexFunc(inventory.Capacity.Nodes, func(c cluster.NodeCapacity) bool { return c.Node == node })
	if d.Kind != guest.VirtualMachine || at < 0 {
		return Hindrance{}
	}
	has := inventory.Capacity.Nodes[at]
	lacks := func(has int64, unit, what string, gets int64) Hindrance {
		return Hindrance{
			Reason: reason.Impossible, Hint: reason.LargerNode.Text,
			Message: fmt.Sprintf("it does not start on node %s, which has %d%s %s, since it gets %d%s", node, has, unit, what, gets, unit),
		}
	}
	memory, _ := numberOnceStarted(d, live, "memory")
	cores, named := numberOnceStarted(d, live, "cores")
	sockets, several := numberOnceStarted(d, live, "sockets")
	if !named {
		cores = 1
	}
	if !several {
		sockets = 1
	}
	switch mib := has.MaxMem >> 20; {
	case mib > 0 && memory > swapped*mib:
		return lacks(mib, " MiB", "of memory", memory)
	case has.CPUs > 0 && cores*sockets > int64(has.CPUs):
		return lacks(int64(has.CPUs), "", "processors", cores*sockets)
	}
	return Hindrance{}
}

// numberOnceStarted returns the number that a key has after the next start, and whether it has one.
func numberOnceStarted(d *guest.Desired, live guest.Observed, key string) (int64, bool) {
	v := live.Keys[key]
	text := v.Text
	if v.Pending != nil {
		text = *v.Pending
	}
	if !slices.Contains(d.Ignore, key) {
		for i := range d.Intents {
			if in := &d.Intents[i]; in.Key == key && in.Verb == guest.Want {
				text = in.Text
			}
		}
	}
	number, err := strconv.ParseInt(text, 10, 64)
	return number, err == nil
}
