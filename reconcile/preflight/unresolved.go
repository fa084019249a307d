package preflight

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
)

// Unresolved is a name in manifests that the cluster does not show.
type Unresolved struct {
	What      string // node, storage, pool, template, or a Kind
	Name      string
	Problem   string
	Hint      string // a suggestion; "" is none
	Unchecked bool   // the name may exist: the problem explains why it was not checked
	For       []Cause
}

// UnresolvedOnCluster returns the names that the cluster does not have, or that the token may not see, sorted by kind and name. Names that only a
// creation needs are checked for guests that do not exist yet.
func UnresolvedOnCluster(guests []guest.Desired, around ClusterContext) []Unresolved {
	found := make(map[[2]string]*Unresolved)
	note := func(s Unresolved, c Cause) {
		at := [2]string{s.What, s.Name}
		if found[at] == nil {
			found[at] = &s
		}
		found[at].For = append(found[at].For, c)
	}
	for i := range guests {
		d := &guests[i]
		_, exists := around.Inventory.Row(d.VMID)
		for _, node := range nodesOf(d) {
			if around.Nodes != nil && !slices.Contains(around.Nodes, node) {
				note(Unresolved{What: "node", Name: node, Problem: "is not a member of the cluster"}, Cause{d.Ref, "node", d.Origin})
			}
		}
		for _, s := range storagesOf(d, exists) {
			if around.Storages != nil && !slices.Contains(around.Storages, s.name) {
				note(unresolvedStorage(s.name, around.Granted), Cause{d.Ref, s.key, s.origin})
			}
		}
		if d.Pool != "" && around.Pools != nil && !slices.Contains(around.Pools, d.Pool) {
			note(Unresolved{What: "pool", Name: d.Pool, Problem: "does not exist, or the token may not see it"}, Cause{d.Ref, "pool", d.Origin})
		}
		if exists || d.Source.Clone == nil {
			continue
		}
		if _, err := plan.FindTemplate(d, around.Inventory); err != nil {
			note(Unresolved{What: "template", Name: templateName(d.Source.Clone), Problem: err.Error()}, Cause{d.Ref, "source", d.Origin})
		}
	}
	unresolved := make([]Unresolved, 0, len(found))
	for _, at := range slices.SortedFunc(maps.Keys(found), func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }) {
		unresolved = append(unresolved, *found[at])
	}
	return unresolved
}

// unresolvedStorage describes a storage that is not listed. Proxmox lists only storages on which the token has privileges.
func unresolvedStorage(name string, granted Granted) Unresolved {
	s := Unresolved{What: "storage", Name: name, Problem: "is not on the cluster, or the token may not see it"}
	if granted == nil {
		return s
	}
	if need := granted.needed("/storage/"+name, "Datastore.Audit", "Datastore.AllocateSpace"); need != "" {
		s.Problem, s.Unchecked = "not checked: "+need+" would allow it", true
	}
	return s
}

func templateName(c *guest.Clone) string {
	if c.VMID != 0 {
		return strconv.Itoa(c.VMID)
	}
	return c.Name
}

// storageReference is the name of a storage, and the key that contains it.
type storageReference struct {
	name, key string
	origin    guest.Origin
}

// storagesOf returns the storages that a guest names, once per key.
func storagesOf(d *guest.Desired, exists bool) []storageReference {
	var list []storageReference
	add := func(name, key string, origin guest.Origin) {
		if name != "" {
			list = append(list, storageReference{name, key, origin})
		}
	}
	for _, in := range d.Intents {
		if in.Verb == guest.Want {
			add(in.Sub["storage"], in.Key, in.Origin)
		}
	}
	if exists {
		return list
	}
	s := d.Source
	switch {
	case s.Clone != nil:
		add(s.Clone.Storage, "source", d.Origin)
	case s.Image != nil:
		add(storageOf(s.Image.Volume), "source", d.Origin)
	case s.ISO != nil:
		add(storageOf(s.ISO.Volume), "source", d.Origin)
	case s.Template != nil:
		add(storageOf(s.Template.Volume), "source", d.Origin)
	case s.Backup != nil:
		add(storageOf(s.Backup.Volume), "source", d.Origin)
		add(s.Backup.Storage, "source", d.Origin)
	}
	return list
}
