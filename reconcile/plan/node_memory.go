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

// nodeLacksMemory returns the hindrance of a virtual machine that gets more than twice the memory of its node: QEMU does not start it. The node's memory is in use by others, so a
// machine with less may not start either, which only its start shows. What is not known hinders nothing. A container with a higher limit than its node starts.
func nodeLacksMemory(d *guest.Desired, live guest.Observed, node string, inventory cluster.Inventory) Hindrance {
	at := slices.IndexFunc(inventory.Capacity.Nodes, func(c cluster.NodeCapacity) bool { return c.Node == node })
	if d.Kind != guest.VirtualMachine || at < 0 {
		return Hindrance{}
	}
	v := live.Keys["memory"]
	text := v.Text
	if v.Pending != nil {
		text = *v.Pending
	}
	if !slices.Contains(d.Ignore, "memory") {
		for i := range d.Intents {
			if in := &d.Intents[i]; in.Key == "memory" && in.Verb == guest.Want {
				text = in.Text
			}
		}
	}
	mib, err := strconv.ParseInt(text, 10, 64)
	has := inventory.Capacity.Nodes[at].MaxMem >> 20
	if err != nil || has == 0 || mib <= swapped*has {
		return Hindrance{}
	}
	return Hindrance{
		Reason: reason.Impossible, Hint: reason.LessMemory.Text,
		Message: fmt.Sprintf("it does not start on node %s, which has %d MiB of memory, since it gets %d MiB", node, has, mib),
	}
}
