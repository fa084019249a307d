package manifest

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// AdoptedSet is a GuestSet that AdoptSets wrote in place of the manifests of guests.
type AdoptedSet struct {
	Name    string
	Data    []byte // one YAML document with its comments
	Members []Adopted
}

// maxOwnValues is how many values two members may have that differ, beside those by which every guest differs: name, vmid, node and addresses.
const maxOwnValues = 4

// AdoptSets proposes sets for guests of one kind that differ in few fields. A member of a set means exactly what its own manifest means. Guests that
// are in no set are the second result. Cluster is for the comment. Taken reports names of sets that are in use. It is pure.
func AdoptSets(guests []Adopted, cluster string, taken func(name string) bool) ([]AdoptedSet, []Adopted) {
	var sets []AdoptedSet
	var alone []Adopted
	used := map[string]bool{}
	for _, group := range similar(guests) {
		name := setName(group, func(name string) bool { return taken(name) || used[name] })
		set := AdoptedSet{Name: name}
		for _, g := range group {
			set.Members = append(set.Members, g.Adopted)
		}
		if len(group) > 1 {
			set.Data = writeSet(name, cluster, group)
		}
		if len(group) == 1 || !set.means(group) {
			alone = append(alone, set.Members...)
			continue
		}
		used[name] = true
		sets = append(sets, set)
	}
	return sets, alone
}

// candidate is an adopted guest with the values of its spec.
type candidate struct {
	Adopted
	values []pathValue // in the order of the manifest
	byPath map[string]*tree.Node
}

// pathValue is a value with its path, whose names are separated by NUL.
type pathValue struct {
	path  string
	value *tree.Node
}

const pathSeparator = "\x00"

// similar returns the guests in groups that a set can describe, in the order of their first guests.
func similar(guests []Adopted) [][]candidate {
	var groups [][]candidate
	for _, g := range guests {
		documents, _ := tree.Read("adopted.yaml", g.Data)
		c := candidate{Adopted: g, byPath: map[string]*tree.Node{}}
		if len(documents) == 1 {
			c.values = valuesBelow(nil, documents[0].Get("spec"), "")
		}
		for _, v := range c.values {
			c.byPath[v.path] = v.value
		}
		i := slices.IndexFunc(groups, func(group []candidate) bool {
			return len(group) < maxMembers && group[0].Kind == c.Kind && group[0].resembles(c)
		})
		if i < 0 {
			groups = append(groups, nil)
			i = len(groups) - 1
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// valuesBelow appends the values at and below a node. A list is one value, as for merging.
func valuesBelow(out []pathValue, n *tree.Node, path string) []pathValue {
	if n == nil || n.Kind != tree.Mapping || len(n.Entries) == 0 {
		if n != nil {
			out = append(out, pathValue{path, n})
		}
		return out
	}
	for _, e := range n.Entries {
		out = valuesBelow(out, e.Value, strings.TrimPrefix(path+pathSeparator+e.Name, pathSeparator))
	}
	return out
}

// resembles reports whether two guests differ in few values.
func (c candidate) resembles(other candidate) bool {
	differ := 0
	for _, v := range c.values {
		if have := other.byPath[v.path]; (have == nil || !have.Equal(v.value)) && !isOwnValue(v.path) {
			if differ++; differ > maxOwnValues {
				return false
			}
		}
	}
	for _, v := range other.values {
		if c.byPath[v.path] == nil && !isOwnValue(v.path) {
			differ++
		}
	}
	return differ <= maxOwnValues
}

// isOwnValue reports whether a value is one by which every guest differs.
func isOwnValue(path string) bool {
	parts := strings.Split(path, pathSeparator)
	last := parts[len(parts)-1]
	switch {
	case len(parts) == 1:
		return slices.Contains([]string{"vmid", "name", "hostname", "node", "description"}, last)
	case parts[0] == "networks":
		return slices.Contains([]string{"mac", "ip4", "ip6"}, last)
	default:
		return parts[0] == "cloudInit" && slices.Contains([]string{"v4", "v6"}, last)
	}
}

// setName returns a free name for a set: what the names of its members begin with, without a number at the end.
func setName(group []candidate, taken func(string) bool) string {
	name := group[0].Name
	for _, c := range group[1:] {
		for !strings.HasPrefix(c.Name, name) {
			name = name[:len(name)-1]
		}
	}
	name = strings.TrimRight(name, "0123456789-.")
	if name == "" {
		name = map[guest.Kind]string{guest.VirtualMachine: "machines", guest.Container: "containers"}[group[0].Kind]
	}
	for base, n := name, 2; taken(name); n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	return name
}

// shared returns the values that the members share, by path: the value that more than half of them have, if each member has one at the path.
func shared(group []candidate) map[string]*tree.Node {
	out := map[string]*tree.Node{}
	for _, v := range group[0].values {
		counts, everywhere := map[string]int{}, true
		for _, c := range group {
			value := c.byPath[v.path]
			if everywhere = everywhere && value != nil; !everywhere {
				break
			}
			text := asText(value)
			if counts[text]++; counts[text] > len(group)/2 {
				out[v.path] = value
			}
		}
		if !everywhere {
			delete(out, v.path)
		}
	}
	return out
}

// asText returns a text that is the same for equal values: those of adopted guests are texts, numbers and lists of texts.
func asText(n *tree.Node) string {
	parts := []string{n.Tag, n.Text}
	for _, item := range n.Items {
		parts = append(parts, asText(item))
	}
	return strings.Join(parts, pathSeparator)
}

// writeSet returns the document of a set.
func writeSet(name, cluster string, group []candidate) []byte {
	common := shared(group)
	spec := &tree.Node{Kind: tree.Mapping}
	for _, v := range group[0].values {
		if value := common[v.path]; value != nil {
			plant(spec, strings.Split(v.path, pathSeparator), value)
		}
	}
	rows := &yaml.Node{Kind: yaml.SequenceNode}
	for _, c := range group {
		rows.Content = append(rows.Content, inOneLine(styled(c.row(common))))
	}
	var out bytes.Buffer
	out.WriteString(setHeader(cluster, group))
	document, _ := tree.Encode(yamlMap( // into memory, from nodes of this package: cannot fail
		yamlText("apiVersion"), yamlText(apiVersion), yamlText("kind"), yamlText(kindSet),
		yamlText("metadata"), yamlMap(yamlText("name"), yamlText(name)),
		yamlText("spec"), yamlMap(yamlText(inheritedName[group[0].Kind]), styled(spec), yamlText("members"), rows),
	))
	out.Write(document)
	return out.Bytes()
}

// setHeader returns the comment with the origin of a set and what its members leave out.
func setHeader(cluster string, group []candidate) string {
	var b strings.Builder
	b.WriteString("# yaml-language-server: $schema=schema.json\n#\n")
	fmt.Fprintf(&b, "# %d guests of cluster %s, written by gitops-agent adopt. Fields that differ are in the rows.\n", len(group), onOneLine(cluster))
	first := true
	for _, c := range group {
		for _, l := range c.Left {
			if first {
				b.WriteString("#\n# Not pinned, and so not managed:\n")
				first = false
			}
			fmt.Fprintf(&b, "#   %s: %s: %s\n", c.Name, l.Key, l.Reason)
		}
	}
	return b.String()
}

// row returns the row of a member: its name, vmid, node and addresses, then what else it does not share.
func (c candidate) row(common map[string]*tree.Node) *tree.Node {
	row := &tree.Node{Kind: tree.Mapping}
	plant(row, []string{"name"}, scalarOf("!!str", c.Name))
	var rest []pathValue
	addresses := &tree.Node{Kind: tree.Mapping}
	for _, v := range c.values {
		parts := strings.Split(v.path, pathSeparator)
		switch value := common[v.path]; {
		case value != nil && value.Equal(v.value):
		case v.path == "name":
			plant(row, []string{"nameInProxmox"}, v.value)
		case v.path == "vmid" || v.path == "node":
			plant(row, parts, v.value)
		case c.isAddress(parts, v.value):
			slot := parts[len(parts)-2]
			if first := addresses.Get(slot); first == nil {
				plant(addresses, []string{slot}, v.value)
			} else {
				*first = tree.Node{Kind: tree.List, Items: []*tree.Node{new(*first), v.value}}
			}
		default:
			rest = append(rest, v)
		}
	}
	if len(addresses.Entries) > 0 {
		plant(row, []string{"addresses"}, addresses)
	}
	for _, v := range rest {
		plant(row, strings.Split(v.path, pathSeparator), v.value)
	}
	return row
}

// isAddress reports whether the field addresses can express a value.
func (c candidate) isAddress(parts []string, value *tree.Node) bool {
	if len(parts) < 2 || value.Kind != tree.Scalar || !strings.Contains(value.Text, "/") {
		return false
	}
	a := memberAddress{slot: parts[len(parts)-2], text: value.Text}
	return slices.Equal(a.path(c.Kind), parts)
}

// plant sets a value at a path below a mapping, after what is there.
func plant(into *tree.Node, path []string, value *tree.Node) {
	for _, name := range path[:len(path)-1] {
		below := into.Get(name)
		if below == nil {
			below = &tree.Node{Kind: tree.Mapping}
			into.Entries = append(into.Entries, tree.Entry{Name: name, Value: below})
		}
		into = below
	}
	into.Entries = append(into.Entries, tree.Entry{Name: path[len(path)-1], Value: value})
}

// inOneLine puts a row on one line, with everything in it, if it contains no text of several lines.
func inOneLine(n *yaml.Node) *yaml.Node {
	width := 0
	if flat(n, &width); width > 160 {
		return n
	}
	n.Style = yaml.FlowStyle
	return n
}

// flat adds the width of a node; a text of several lines counts as too wide.
func flat(n *yaml.Node, width *int) {
	*width += len(n.Value) + len(", ")
	if n.Style == yaml.LiteralStyle {
		*width += 1 << 20
	}
	for _, below := range n.Content {
		flat(below, width)
	}
}

// means reports whether each member of a set means what its own manifest means.
func (s AdoptedSet) means(group []candidate) bool {
	together, ok := lowerAdopted(s.Data)
	if !ok || len(together) != len(group) {
		return false
	}
	for _, c := range group {
		alone, ok := lowerAdopted(c.Data)
		i := slices.IndexFunc(together, func(d guest.Desired) bool { return d.Name == c.Name })
		if !ok || len(alone) != 1 || i < 0 || len(guest.ChangedFields(alone[0], together[i])) > 0 {
			return false
		}
	}
	return true
}

// lowerAdopted lowers a document, beside a Cluster without defaults.
func lowerAdopted(data []byte) ([]guest.Desired, bool) {
	set, err := Parse([]File{{Path: "adopted.yaml", Data: data}, {Path: "cluster.yaml", Data: []byte(adoptedCluster)}})
	if err != nil {
		return nil, false
	}
	out, err := set.Lower(nil)
	return out, err == nil
}
