package adoption

import (
	"gitops-agent/reconcile/manifest"
)

// adoptedSet is a set with its file.
type adoptedSet struct {
	manifest.AdoptedSet
	file string // "" for standard output
}

// makeSets puts the adopted guests that differ in few fields into sets, and writes the files of the sets and of the other guests. A guest whose file
// cannot be written is refused.
func (a *adopter) makeSets(conflicts *conflicts) {
	byVMID := map[int]*candidate{}
	var adopted []manifest.Adopted
	for i := range a.chosen {
		if c := &a.chosen[i]; c.err == nil {
			byVMID[c.vmid] = c
			adopted = append(adopted, c.done.Adopted)
		}
	}
	sets, alone := manifest.AdoptSets(adopted, a.opts.Config.Cluster.Name, conflicts.hasSet)
	for _, set := range sets {
		file, err := a.write("guestset-"+set.Name, set.Data)
		for _, g := range set.Members {
			c := byVMID[g.VMID]
			c.done.set, c.done.file, c.err = set.Name, file, err
		}
		if err == nil {
			a.sets = append(a.sets, adoptedSet{set, file})
		}
	}
	for _, g := range alone {
		c := byVMID[g.VMID]
		c.done.file, c.err = a.writeGuest(g)
	}
}
