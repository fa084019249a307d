package preflight

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// Unresolved is a name in manifests that the cluster does not show.
type Unresolved struct {
	What      string // node, storage, pool, template, macro, a Kind, or the noun of a kind of objects
	Name      string
	Problem   string
	Hint      string // a suggestion; "" is none
	Unchecked bool   // the name may exist: the problem explains why it was not checked
	Warning   bool   // it is so now, and may have changed when it matters
	Absent    bool   // the cluster has nothing of this name, so that no privilege on it is missing
	For       []Cause
}

// UnresolvedOnCluster returns the names that the cluster does not have, or that the token may not see, sorted by kind and name, and the nodes and storages that are too
// small. Names that only a creation needs are checked for guests that do not exist yet.
func UnresolvedOnCluster(guests []guest.Desired, around ClusterContext) []Unresolved {
	found := make(map[[3]string]*Unresolved)
	note := func(s Unresolved, c Cause) {
		at := [3]string{s.What, s.Name, s.Problem}
		if found[at] == nil {
			found[at] = &s
		}
		found[at].For = append(found[at].For, c)
	}
	for i := range guests {
		d := &guests[i]
		_, exists := around.Inventory.Row(d.VMID)
		for _, node := range append(nodesOf(d), selectableNodes(d, exists)...) {
			for _, u := range unresolvedNode(node, around) {
				note(u, Cause{d.Ref, "node", d.PlaceOf("node")})
			}
		}
		for _, s := range storagesOf(d, exists) {
			for _, u := range unresolvedStorage(s.name, s.content, s.nodes(d, around), around) {
				note(u, Cause{d.Ref, s.key, s.origin})
			}
		}
		if d.Pool != "" && around.Pools != nil && !around.hasPool(d.Pool) {
			note(absentPool(d.Pool, around), Cause{d.Ref, "pool", d.PlaceOf("pool")})
		}
		if exists || d.Source.Clone == nil {
			continue
		}
		if template, described := plan.TemplateGuest(d, around.Made); described && plan.Awaited(template, around.Inventory) != "" {
			continue // it waits for the template
		}
		if _, err := plan.FindTemplate(d, around.Inventory); err != nil {
			problem := err.Error()
			if errors.Is(err, plan.ErrNoTemplate) {
				problem = plan.ErrNoTemplate.Error() // the name stands beside it
			}
			note(Unresolved{What: "template", Name: templateName(d.Source.Clone), Problem: problem, Hint: likeTemplate(d, around.Inventory)}, Cause{d.Ref, keySource, d.PlaceOf(keySource)})
		} else if why := plan.CloneMisses(d, cluster.Snapshot{Inventory: around.Inventory, Guests: around.Templates}); why != "" {
			note(Unresolved{What: "template", Name: templateName(d.Source.Clone), Problem: why, Hint: reason.CloneReaches.Text}, Cause{d.Ref, keySource, d.PlaceOf(keySource)})
		}
	}
	unresolvedOfObjects(around, note)
	unresolvedOfImages(around, note)
	unresolvedOfFirewalls(guests, around, note)
	for _, u := range append(lacksRoom(guests, around), impossibleSources(guests, around)...) {
		for _, c := range u.For {
			one := u
			one.For = nil
			note(one, c)
		}
	}
	unresolved := make([]Unresolved, 0, len(found))
	for _, at := range slices.SortedFunc(maps.Keys(found), func(a, b [3]string) int { return slices.Compare(a[:], b[:]) }) {
		unresolved = append(unresolved, *found[at])
	}
	return unresolved
}

// unresolvedStorage returns what is wrong with a storage that must allow a type of content on nodes.
func unresolvedStorage(name, content string, nodes []string, around ClusterContext) []Unresolved {
	if around.Storages == nil {
		return nil
	}
	s, shown := around.storage(name)
	switch {
	case !shown:
		return []Unresolved{hiddenStorage(name, around)}
	case s.Disabled:
		return []Unresolved{{What: "storage", Name: s.ID, Problem: "is disabled", Hint: "pvesm set " + s.ID + " --disable 0 enables it"}}
	}
	var found []Unresolved
	if !s.Allows(content) {
		found = append(found, Unresolved{
			What: "storage", Name: s.ID, Problem: "does not allow the content type " + content + ", only " + strings.Join(s.Content, ", "),
			Hint: "choose another storage, or run pvesm set " + s.ID + " --content " + strings.Join(s.Content, ",") + "," + content,
		})
	}
	for _, node := range nodes {
		if slices.Contains(around.Nodes, node) && !s.IsOn(node) {
			found = append(found, Unresolved{
				What: "storage", Name: s.ID, Problem: "is not on " + node + ", only on " + strings.Join(s.Nodes, ", "),
				Hint: "choose another storage or node, or run pvesm set " + s.ID + " --nodes " + strings.Join(s.Nodes, ",") + "," + node,
			})
		}
	}
	return found
}

// unresolvedNode returns what is wrong with the name of a node.
func unresolvedNode(name string, around ClusterContext) []Unresolved {
	if around.Nodes == nil || slices.Contains(around.Nodes, name) {
		return nil
	}
	return []Unresolved{{What: "node", Name: name, Problem: "is not a member of the cluster", Hint: manifest.Suggestion(name, around.Nodes), Absent: true}}
}

// hiddenStorage describes a storage that is not listed. Proxmox lists only storages on which the token has privileges.
func hiddenStorage(name string, around ClusterContext) Unresolved {
	names := make([]string, 0, len(around.Storages))
	for _, s := range around.Storages {
		names = append(names, s.ID)
	}
	u := Unresolved{What: "storage", Name: name, Problem: "is not on the cluster, or the token may not see it", Hint: manifest.Suggestion(name, names), Absent: true}
	return around.visible(u, "/storage/"+name, "Datastore.Audit", "Datastore.AllocateSpace")
}

// visible returns an absent name, unchecked if the token lacks the privileges of which each would show it.
func (c ClusterContext) visible(u Unresolved, object string, privileges ...string) Unresolved {
	if c.Granted == nil {
		return u
	}
	if need := c.Granted.needed(object, privileges...); need != "" {
		u.Problem, u.Hint, u.Unchecked, u.Absent = "not checked: "+need+" would allow it", "", true, false
	}
	return u
}

// absentPool describes a pool that is not listed. Proxmox lists only pools on which the token has Pool.Audit.
func absentPool(id string, around ClusterContext) Unresolved {
	u := Unresolved{What: "pool", Name: id, Problem: "does not exist, or the token may not see it", Hint: manifest.Suggestion(id, around.Pools), Absent: true}
	if u.Hint == "" {
		u.Hint = "describe it by a manifest of the kind Pool, or make it in Proxmox"
	}
	return around.visible(u, "/pool/"+id, "Pool.Audit")
}

// likeTemplate suggests the template that a clone may mean.
func likeTemplate(d *guest.Desired, inventory cluster.Inventory) string {
	var names []string
	for _, row := range inventory.Rows {
		if row.Kind == d.Kind && row.Template {
			names = append(names, row.Name)
		}
	}
	return manifest.Suggestion(d.Source.Clone.Name, names)
}

func templateName(c *guest.Clone) string {
	if c.VMID != 0 {
		return strconv.Itoa(c.VMID)
	}
	return c.Name
}

// storageReference is the name of a storage, the key that contains it, and the type of content that the key needs there.
type storageReference struct {
	name, content, key string
	origin             guest.Origin
}

// keySource is the key of a Cause that only the creation of a guest has.
const keySource = "source"

// nodes returns the nodes that must have the storage: what a guest is created from is read on the node where it is created.
func (s storageReference) nodes(d *guest.Desired, around ClusterContext) []string {
	if s.key == keySource && d.Node != "" {
		return []string{d.Node}
	}
	return possibleNodes(d, around)
}

// disksOf returns the type of content that the disks of a guest are.
func disksOf(kind guest.Kind) string {
	if kind == guest.Container {
		return "rootdir"
	}
	return "images"
}

// storagesOf returns the storages that a guest names, once per key.
func storagesOf(d *guest.Desired, exists bool) []storageReference {
	var list []storageReference
	add := func(name, content, key string, origin guest.Origin) {
		if name != "" {
			list = append(list, storageReference{name, content, key, origin})
		}
	}
	for _, in := range d.Intents {
		if in.Verb != guest.Want {
			continue
		}
		add(in.Sub["storage"], disksOf(d.Kind), in.Key, in.Origin)
		if in.Key == keySnippets {
			for _, snippet := range snippetsOf(&in) {
				add(storageOf(snippet), "snippets", in.Key, in.Origin)
			}
		}
	}
	if exists {
		return list
	}
	if c := d.Source.Clone; c != nil {
		add(c.Storage, disksOf(d.Kind), keySource, d.PlaceOf(keySource))
	}
	volume := sourceVolume(d.Source)
	add(storageOf(volume), volumesLike(volume).Content, keySource, d.PlaceOf(keySource))
	if b := d.Source.Backup; b != nil {
		add(b.Storage, disksOf(d.Kind), keySource, d.PlaceOf(keySource))
	}
	return list
}

// UsesStorages reports whether a guest names a storage. It may report true for a guest of which the source no longer matters.
func UsesStorages(guests []guest.Desired) bool {
	return slices.ContainsFunc(guests, func(d guest.Desired) bool {
		return len(storagesOf(&d, false)) > 0 || slices.ContainsFunc(d.Intents, func(in guest.Intent) bool {
			return in.Verb == guest.Want && storageOf(subKey(&in, "volume")) != ""
		})
	})
}

// UsesPools reports whether a guest names a pool.
func UsesPools(guests []guest.Desired) bool {
	return slices.ContainsFunc(guests, func(d guest.Desired) bool { return d.Pool != "" })
}
