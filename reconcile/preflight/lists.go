package preflight

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
)

// Kind is what a List lists. It is the word for one of it, too.
type Kind string

// What nodes list.
const (
	Bridge Kind = "bridge" // of the host, and virtual networks
	Volume Kind = "volume" // of one content type on a storage
	CPU    Kind = "cpu"    // models of virtual machines
)

// List is a question to a node about what it has. All guests that need the answer share it.
type List struct {
	Kind    Kind
	Node    string
	Storage string // of volumes
	Content string // of volumes: images, import, iso, vztmpl, backup
}

// Answer is what a node has by the names that manifests use, or why it could not be asked.
type Answer struct {
	Names []string
	Err   error
}

// Lists returns what has to be asked of nodes before Missing can tell what guests refer to and is not there, each once, sorted. A node or a
// storage that the cluster does not show is not asked.
func Lists(guests []guest.Desired, around ClusterContext) []List {
	var lists []List
	for i := range guests {
		for _, m := range references(&guests[i], around) {
			if m.list.Kind != Volume || slices.Contains(around.Storages, m.list.Storage) {
				lists = append(lists, m.list)
			}
		}
	}
	slices.SortFunc(lists, func(a, b List) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Storage, b.Storage), cmp.Compare(a.Content, b.Content))
	})
	return slices.Compact(lists)
}

// reference is a name in a manifest and the list that it should be in.
type reference struct {
	list  List
	name  string
	cause Cause
}

// references returns what a guest refers to on each node where it may be. What only a creation reads is asked of the node where a guest that is
// not there yet will be made.
func references(d *guest.Desired, around ClusterContext) []reference {
	var list []reference
	add := func(nodes []string, of List, name string, cause Cause) {
		for _, node := range nodes {
			if of.Node = node; name != "" && slices.Contains(around.Nodes, node) {
				list = append(list, reference{of, name, cause})
			}
		}
	}
	nodes := possibleNodes(d, around)
	for i := range d.Intents {
		in := &d.Intents[i]
		cause, volume := Cause{d.Ref, in.Key, in.Origin}, subKey(in, "volume")
		switch {
		case in.Verb != guest.Want:
		case strings.TrimRight(in.Key, "0123456789") == "net":
			add(nodes, List{Kind: Bridge}, subKey(in, "bridge"), cause)
		case in.Key == "cpu" && d.Kind == guest.VirtualMachine && !mayEmulate(d):
			add(nodes, List{Kind: CPU}, subKey(in, "cputype"), cause)
		case strings.Contains(volume, ":iso/"):
			add(nodes, volumesLike(volume), volume, cause)
		}
	}
	if _, exists := around.Inventory.Row(d.VMID); exists || d.Node == "" {
		return list
	}
	if volume := sourceVolume(d.Source); storageOf(volume) != "" {
		add([]string{d.Node}, volumesLike(volume), archiveOf(volume), Cause{d.Ref, "source", d.Origin})
	}
	return list
}

// possibleNodes returns the nodes where a guest may be: the one where it is and, unless it stays there, those that its manifest names. A clone
// without a node stays with its template.
func possibleNodes(d *guest.Desired, around ClusterContext) []string {
	moves := d.Migrate == guest.MigrateOffline || d.Migrate == guest.MigrateOnline
	row, exists := around.Inventory.Row(d.VMID)
	nodes := nodesOf(d)
	switch {
	case exists && !moves:
		return []string{row.Node}
	case exists && !slices.Contains(nodes, row.Node):
		return append(nodes, row.Node)
	case exists || len(nodes) > 0 || d.Source.Clone == nil:
		return nodes
	}
	template, err := plan.FindTemplate(d, around.Inventory)
	if err != nil {
		return nil // a stray of its own
	}
	return []string{template.Node}
}

// mayEmulate reports whether the guest has another architecture than its node, perhaps: the models of that one are not listed.
func mayEmulate(d *guest.Desired) bool {
	return slices.ContainsFunc(d.Intents, func(in guest.Intent) bool { return in.Key == "arch" && in.Verb == guest.Want })
}

// subKey returns a sub-key of an intent, also of one that is written as native text, where cputype and volume come first and bare.
func subKey(in *guest.Intent, name string) string {
	if in.Sub != nil {
		return in.Sub[name]
	}
	for i, pair := range strings.Split(in.Text, ",") {
		key, text, named := strings.Cut(pair, "=")
		switch {
		case named && key == name:
			return text
		case !named && i == 0 && name != "bridge":
			return key
		}
	}
	return ""
}

// sourceVolume returns the volume that a guest is made from, "" where it is made from none.
func sourceVolume(s guest.Source) string {
	switch {
	case s.Image != nil:
		return s.Image.Volume
	case s.ISO != nil:
		return s.ISO.Volume
	case s.Template != nil:
		return s.Template.Volume
	case s.Backup != nil:
		return s.Backup.Volume
	default:
		return ""
	}
}

// archiveOf returns the file that is listed in place of a disk within it: "local:import/lab.ova/disk1.vmdk" is in "local:import/lab.ova".
func archiveOf(volume string) string {
	if file, _, inside := strings.Cut(volume, ".ova/"); inside {
		return file + ".ova"
	}
	return volume
}

// contentOf finds the content type in a volume's name; a disk's has none.
var contentOf = regexp.MustCompile(`:(import|iso|vztmpl|backup)/`)

// volumesLike returns the list that a volume would be in, without the node.
func volumesLike(volume string) List {
	list := List{Kind: Volume, Storage: storageOf(volume), Content: "images"}
	if m := contentOf.FindStringSubmatch(volume); m != nil {
		list.Content = m[1]
	}
	return list
}
