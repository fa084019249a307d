package preflight

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
)

// unresolvedOfObjects returns the nodes, storages and pools that objects other than guests name, and the cluster does not have. Which storages and pools an object
// names follows from the paths of the privileges that it needs there.
func unresolvedOfObjects(around ClusterContext, note func(Unresolved, Cause)) {
	for _, d := range around.Changing {
		k, known := kinds.Of(d.Kind)
		if !known || d.Observe {
			continue
		}
		if k.Nodes != nil {
			for _, node := range k.Nodes(d) {
				if node == "" {
					continue
				}
				for _, u := range unresolvedNode(node, around) {
					note(u, causeIn(d, node))
				}
			}
		}
		for _, n := range k.Privileges(d) {
			if name, of := strings.CutPrefix(n.Path, "/storage/"); of && names(d, n.Key, name) {
				// Jobs of backups alone name a storage. Proxmox accepts one without this type, and then each run of the job fails.
				for _, u := range unresolvedStorage(name, "backup", nil, around) {
					note(u, causeIn(d, name))
				}
			}
			if name, of := strings.CutPrefix(n.Path, "/pool/"); of && around.Pools != nil && names(d, n.Key, name) && !around.hasPool(name) {
				note(absentPool(name, around), causeIn(d, name))
			}
		}
	}
}

// unresolvedOfImages returns the nodes and storages that Images name, and the cluster does not have, and storages that cannot keep the files.
func unresolvedOfImages(around ClusterContext, note func(Unresolved, Cause)) {
	for _, d := range around.ChangingImages {
		for _, node := range d.Nodes {
			for _, u := range unresolvedNode(node, around) {
				note(u, Cause{d.Ref(), "nodes", d.Places.Nodes})
			}
		}
		for _, u := range unresolvedStorage(d.Storage, string(d.Content), d.Nodes, around) {
			note(u, Cause{d.Ref(), "storage", d.Places.Storage})
		}
	}
}

// names reports whether a key of an object contains a name: a privilege may also be needed for what the object uses without naming it.
func names(d kind.Desired, key, name string) bool {
	text, _ := d.Text(key)
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",=:; ", r) }), name)
}

// causeIn returns the key of an object that contains a name, with its line.
func causeIn(d kind.Desired, name string) Cause {
	for _, in := range d.Keys {
		if names(d, in.Key, name) {
			return Cause{d.Ref(), in.Key, in.Origin}
		}
	}
	return Cause{d.Ref(), "", d.Origin}
}

// UsesOfObjects reports whether objects other than guests name storages, and whether they name pools.
func UsesOfObjects(objects []kind.Desired) (storages, pools bool) {
	for _, d := range objects {
		k, known := kinds.Of(d.Kind)
		if !known {
			continue
		}
		uses := func(prefix string) bool {
			return slices.ContainsFunc(k.Privileges(d), func(n guest.Need) bool { return strings.HasPrefix(n.Path, prefix) })
		}
		storages, pools = storages || uses("/storage/"), pools || uses("/pool/")
	}
	return storages, pools
}
