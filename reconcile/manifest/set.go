package manifest

import (
	"fmt"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// Set is what a source wants: one cluster and its guests, sorted by label. The zero Set wants nothing; only Parse fills one.
type Set struct {
	Cluster  Cluster
	Guests   []Guest
	Warnings []Problem // what is no mistake and may not be meant, sorted by place: classes that apply to no guest, shared MAC addresses and disk units
}

// Guest is one guest as written.
type Guest struct {
	guest.Ref                   // VMID is 0 where the manifest leaves it to the cluster's range
	Labels    map[string]string // metadata.labels
	Classes   []string          // laid under the spec, first to last: those that select the guest, then those that it names
	Origin    guest.Origin      // of the document

	desired guest.Desired
	merged  *tree.Node // the spec with everything inherited
}

// Lower returns what is wanted of every guest, sorted by label. Assigned gives vmids, by label, to guests whose manifests name
// none; a guest that it does not name keeps vmid 0. The error is a *Problems. It is pure.
func (s Set) Lower(assigned map[string]int) ([]guest.Desired, error) {
	r := &report{}
	owners := map[int]string{}
	for _, g := range s.Guests {
		if g.VMID != 0 {
			owners[g.VMID] = g.Label()
		}
	}
	out := make([]guest.Desired, 0, len(s.Guests))
	for _, g := range s.Guests {
		d := g.desired
		if vmid, given := assigned[g.Label()]; given && g.VMID == 0 {
			problem := Problem{Origin: g.Origin, Guest: g.Label(), Field: "vmid"}
			if owner, taken := owners[vmid]; taken {
				problem.Message = fmt.Sprintf("was assigned %d, which %s has", vmid, owner)
				r.add(problem)
			} else if vmid < minVMID || vmid > maxVMID {
				problem.Message = fmt.Sprintf("was assigned %d, want %d to %d", vmid, minVMID, maxVMID)
				r.add(problem)
			}
			owners[vmid] = g.Label()
			d.VMID = vmid
		}
		out = append(out, d)
	}
	return out, r.err()
}
