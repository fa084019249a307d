package preflight

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
)

// Lists returns the lists that UnresolvedOnNodes needs, without duplicates, sorted. It leaves out nodes and storages that the cluster
// does not show, and storages that cannot have the volume there: UnresolvedOnCluster reports them.
func Lists(guests []guest.Desired, around ClusterContext) []List {
	var lists []List
	for i := range guests {
		for _, m := range references(&guests[i], around) {
			if m.list.Kind != Volume || around.canHold(m.list.Storage, m.list.Content, m.list.Node) {
				lists = append(lists, m.list)
			}
		}
	}
	slices.SortFunc(lists, func(a, b List) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Storage, b.Storage), cmp.Compare(a.Content, b.Content))
	})
	return slices.Compact(lists)
}

// reference is a name in a manifest, and the list that should contain it.
type reference struct {
	list  List
	name  string
	cause Cause
}

// references returns the names to which a guest refers, for each node where the guest may be. Names that only a creation needs are included if the
// guest does not exist yet, for the node on which it will be created. The file of an Image is left out: the agent downloads it. Snippets are left out
// if the token cannot see them. The role of an agent never has the privilege, with which a token may delete every volume of the storage, so this is no problem to
// report.
func references(d *guest.Desired, around ClusterContext) []reference {
	var list []reference
	add := func(nodes []string, of List, name string, cause Cause) {
		for _, node := range nodes {
			if of.Node = node; name != "" && slices.Contains(around.Nodes, node) && !around.makes(name, node) {
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
		case in.Key == keySnippets:
			for _, snippet := range snippetsOf(in) {
				if around.Granted.Allows("/storage/"+storageOf(snippet), "Datastore.Allocate") {
					add(nodes, volumesLike(snippet), snippet, cause)
				}
			}
		case d.Source.Object() != "" && volume == sourceVolume(d.Source):
		case strings.Contains(volume, ":iso/"):
			add(nodes, volumesLike(volume), volume, cause)
		}
	}
	if _, exists := around.Inventory.Row(d.VMID); exists || d.Node == "" || d.Source.Object() != "" {
		return list
	}
	if volume := sourceVolume(d.Source); storageOf(volume) != "" {
		add([]string{d.Node}, volumesLike(volume), archiveOf(volume), Cause{d.Ref, keySource, d.PlaceOf(keySource)})
	}
	return list
}

// possibleNodes returns the nodes where a guest may be: its current node and, if it may move, the nodes in its manifest. A clone without a node stays
// on the node of its template.
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
	if template, described := plan.TemplateGuest(d, around.Made); described && plan.Awaited(template, around.Inventory) != "" {
		return nodesOf(template)
	}
	template, err := plan.FindTemplate(d, around.Inventory)
	if err != nil {
		return nil // UnresolvedOnCluster reports the template
	}
	return []string{template.Node}
}

// mayEmulate reports whether the guest may have another architecture than its node. The node does not list CPU models of other architectures.
func mayEmulate(d *guest.Desired) bool {
	return slices.ContainsFunc(d.Intents, func(in guest.Intent) bool { return in.Key == "arch" && in.Verb == guest.Want })
}

// subKey returns a sub-key of an intent. In native text, cputype and volume come first and without a name.
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

// keySnippets is the key that names the files with the custom parts of cloud-init.
const keySnippets = "cicustom"

// snippetsOf returns the files that the intent of keySnippets names, in the order of their sub-keys. Proxmox reads them on the node of the guest whenever it makes
// the cloud-init drive, and refuses to start the guest without one.
func snippetsOf(in *guest.Intent) []string {
	var list []string
	for _, part := range []string{"meta", "network", "user", "vendor"} {
		if volume := subKey(in, part); storageOf(volume) != "" {
			list = append(list, volume)
		}
	}
	return list
}

// sourceVolume returns the volume from which a guest is created, or "".
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

// archiveOf returns the file that contains a disk image, since only the file is listed: "local:import/lab.ova/disk1.vmdk" is in "local:import/lab.ova".
func archiveOf(volume string) string {
	if file, _, inside := strings.Cut(volume, ".ova/"); inside {
		return file + ".ova"
	}
	return volume
}

// contentOf matches the content type in the name of a volume. The name of a disk has none.
var contentOf = regexp.MustCompile(`:(import|iso|vztmpl|backup|snippets)/`)

// volumesLike returns the list that would contain a volume, without the node.
func volumesLike(volume string) List {
	list := List{Kind: Volume, Storage: storageOf(volume), Content: "images"}
	if m := contentOf.FindStringSubmatch(volume); m != nil {
		list.Content = m[1]
	}
	return list
}
