package affinity

import "gitops-agent/reconcile/kind"

// Words of the field type.
const (
	wordNode     = "node"
	wordResource = "resource"
)

// Words of the field affinity, which are those of Proxmox.
const (
	wordTogether = "positive"
	wordApart    = "negative"
)

// fields are the fields of the spec.
func fields() []kind.Field {
	return []kind.Field{
		{Name: "type", Required: "what the rule is about", Doc: "node: on which nodes the guests run. resource: which guests run together or apart, from Proxmox VE 9 on. It cannot be changed; a rule of the other type needs another id.", Form: kind.Choice{Words: []string{wordNode, wordResource}}},
		{Name: "guests", Required: "the guests of the rule", Doc: "Labels of guests, or Proxmox's names of guests without a manifest. The rule waits until all of them are managed by HA. A resource rule needs two.", Form: kind.List{Item: kind.Text{
			Want: "the label of a guest, or vm: or ct: with a vmid", Examples: []string{"VirtualMachine/web-1", "vm:201"}, Pattern: `(VirtualMachine|Container)/[a-zA-Z0-9][a-zA-Z0-9.-]*|(vm|ct):[1-9][0-9]{2,8}`,
		}}},
		{Name: "nodes", Key: keyNodes, Doc: "Of a node rule, required: the nodes, each with an optional priority. The HA manager prefers the highest priority; without a number it is 0.", Form: kind.List{Item: kind.Text{
			Want: "the name of a node, with an optional priority", Examples: []string{"pve1", "pve1:2"}, Pattern: `[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(:(0|[1-9][0-9]{0,3}))?`, Max: 70,
		}}},
		{Name: "strict", Key: keyStrict, Doc: "Of a node rule. true: the guests never run on another node, even if no node of the rule is available. Proxmox's default: false.", Form: kind.Flag{}},
		{Name: "affinity", Key: keyAffinity, Doc: "Of a resource rule, required. positive: the guests run on one node. negative: each runs on a node of its own.", Form: kind.Choice{Words: []string{wordTogether, wordApart}}},
		{Name: "enabled", Doc: "Whether the rule has an effect. On Proxmox VE 8 it always has one.", Form: kind.Flag{}},
	}
}
