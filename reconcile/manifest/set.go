package manifest

import (
	"fmt"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/manifest/tree"
	"gitops-agent/reconcile/policy"
)

// Set is what a source wants: one cluster with its guests, sorted by label, their images, and other objects. The zero Set wants nothing; only Parse makes a Set.
type Set struct {
	Cluster  Cluster
	Guests   []Guest
	Images   []image.Desired // sorted by name
	Objects  []kind.Desired  // of the kinds of package kinds, sorted by label
	Policies []policy.Rule   // sorted by name
	Mistakes []Problem       // in policies, each of which denies everything in its folder, sorted by position
	Warnings []Problem       // allowed but possibly unintended, sorted by position: unused classes, shared MAC addresses and disk units, misleading schedules, unknown macros, and what is accepted only because it was before
	Secrets  []Problem       // encrypted passwords that no agent can read, each of which blocks its guest; WithEncrypted finds them

	accepted bool // what earlier releases accepted is read as they did
}

// Guest is one guest as the source describes it.
type Guest struct {
	guest.Ref                   // VMID is 0 if the cluster's range provides it
	Labels    map[string]string // metadata.labels
	Classes   []string          // merged under the spec, first to last: classes that select the guest, then classes that it names
	Set       string            // name of the GuestSet that describes the guest; "" if it has a document of its own
	Origin    guest.Origin      // of the document, or of the member's row; for a range of numbers, of each

	desired guest.Desired
	merged  *tree.Node // the spec with everything inherited
}

// Lower returns the guest.Desired of every guest, sorted by label. Assigned contains vmids, by label, for guests whose manifests have none; a guest
// that is not in it keeps vmid 0. The error is a *Problems. It is pure.
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
