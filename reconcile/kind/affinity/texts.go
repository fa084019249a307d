package affinity

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/kind"
)

// isSeparator reports whether a character separates the items of a list of Proxmox.
func isSeparator(r rune) bool { return strings.ContainsRune(",; \t", r) }

// listText returns items in the canonical form: sorted, without duplicates.
func listText(items []string) string {
	items = slices.Clone(items)
	slices.Sort(items)
	return strings.Join(slices.Compact(items), ",")
}

// nodesText returns nodes in the canonical form, in which the priority 0 is left out.
func nodesText(nodes []string) string {
	nodes = slices.Clone(nodes)
	for i := range nodes {
		nodes[i] = strings.TrimSuffix(nodes[i], ":0")
	}
	return listText(nodes)
}

// nodeNames returns the nodes of a canonical text without their priorities.
func nodeNames(text string) []string {
	nodes := split(text)
	for i := range nodes {
		nodes[i], _, _ = strings.Cut(nodes[i], ":")
	}
	return nodes
}

// duplicateNode returns the first node that is listed twice, "" if there is none.
func duplicateNode(nodes []string) string {
	seen := make(map[string]bool, len(nodes))
	for _, node := range nodes {
		name, _, _ := strings.Cut(node, ":")
		if seen[name] {
			return name
		}
		seen[name] = true
	}
	return ""
}

// raise returns the fields of the manifest that describes a rule, and the keys that no field describes. The guests have Proxmox's names.
func raise(k *kind.Kind, o cluster.Object) (raised []kind.Raised, left []string) {
	simple, left := k.RaiseKeys(o.Keys)
	if word, known := map[string]string{typeNode: wordNode, typeResource: wordResource, typeGroup: wordNode}[o.Keys[keyType]]; known {
		raised = append(raised, kind.Raised{Name: "type", Value: word})
	}
	if ids := o.Keys[keyResources] + o.Keys[keyMembers]; ids != "" { // never both
		raised = append(raised, kind.Raised{Name: "guests", Value: strings.Split(ids, ",")})
	}
	raised = append(raised, simple...)
	described := []string{keyType, keyResources, keyDisable, keyMembers, keyRestricted}
	if o.Keys[keyType] == typeGroup {
		raised = append(raised, kind.Raised{Name: "strict", Value: o.Keys[keyRestricted] != ""})
	} else {
		raised = append(raised, kind.Raised{Name: "enabled", Value: o.Keys[keyDisable] == ""})
	}
	left = slices.DeleteFunc(left, func(key string) bool { return slices.Contains(described, key) })
	return raised, left
}
