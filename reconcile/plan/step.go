package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/queue"
)

// Step is one piece of work on one guest. Most steps are one Call; a destroy is a composite whose calls stand or fall
// together, because half of it (a stopped, unprotected guest) is worse than none.
type Step struct {
	Guest           guest.Ref
	Op              cluster.Op
	Class           guest.Class
	Wave            int
	Changes         []guest.Change // what a person reads; empty for run-state steps
	Calls           []cluster.Call
	Volumes         []string // that the step destroys, sorted
	DetachedVolumes []string // what is in the slots that the step empties, fills anew or moves: "scsi1=local-lvm:vm-201-disk-1"; sorted
	CopyTargets     []string // storages that whole volumes are written to; of a clone that names none, those of its template's node as "@pve1"
	Pending         []string // what a restart brings into effect, whoever wrote it: "key=value", or "key" for one that goes; sorted
	Doubt           string   // why nobody can be sure that the step is meant for what is there; asks for an approval
	TakesOwnership  bool     // the guest is created or adopted: an identity must be journaled first
	AfterAdoption   bool     // the guest is adopted first: the identity that an approval names is not drawn yet
	Reason          string   // a plain word on why: "removed from the repository", "state: running"
}

// Digest names the exact step in an approval: 32 hexadecimal digits over the cluster, the guest's identity, the volumes at stake, those that leave their
// slots among them, and every call of the composite. It leaves out the node and Proxmox's config digest, which migrations, backups and snapshots change
// without changing what the step would do.
func (s Step) Digest(clusterName, identity string) string {
	type call struct {
		Op      cluster.Op        `json:"op"`
		CloneOf int               `json:"cloneOf,omitempty"`
		Params  map[string]string `json:"params,omitempty"`
		Secrets map[string]string `json:"secrets,omitempty"`
		Delete  []string          `json:"delete,omitempty"`
	}
	subject := struct {
		Cluster  string     `json:"cluster"`
		Kind     guest.Kind `json:"kind"`
		VMID     int        `json:"vmid"`
		Identity string     `json:"identity"`
		Op       cluster.Op `json:"op"`
		Volumes  []string   `json:"volumes,omitempty"`
		Leaves   []string   `json:"leaves,omitempty"`
		Pending  []string   `json:"pending,omitempty"`
		Doubt    string     `json:"doubt,omitempty"`
		Calls    []call     `json:"calls"`
	}{clusterName, s.Guest.Kind, s.Guest.VMID, identity, s.Op, s.Volumes, s.DetachedVolumes, s.Pending, s.Doubt, nil}
	for _, c := range s.Calls {
		if s.Op == cluster.OpDestroy && c.Op != cluster.OpDestroy {
			continue // lifting protection and power belong to every destroy, also to one that was cut short after them
		}
		removed := slices.Clone(c.Delete)
		slices.Sort(removed)
		subject.Calls = append(subject.Calls, call{c.Op, c.CloneOf, c.Params, c.Secrets, removed})
	}
	// Marshalling strings, numbers and sorted maps cannot fail.
	text, _ := json.Marshal(subject)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Holds returns the vmids whose lanes the step needs: its guest's and, for a clone, the template's, which a second clone
// would otherwise find locked.
func (s Step) Holds() []int {
	vmids := []int{s.Guest.VMID}
	for _, c := range s.Calls {
		if c.CloneOf != 0 {
			vmids = append(vmids, c.CloneOf)
		}
	}
	slices.Sort(vmids)
	return slices.Compact(vmids)
}

// Uses returns what the step shares with the steps of other guests: the nodes that its calls go to, and the storages that it writes
// whole volumes to, by name alone, since a storage of one name may be one for all nodes.
func (s Step) Uses() []queue.Resource {
	var uses []queue.Resource
	for _, c := range s.Calls {
		uses = append(uses, queue.Resource{Node: c.Node})
	}
	for _, storage := range s.CopyTargets {
		uses = append(uses, queue.Resource{Storage: storage})
	}
	return queue.CompactResources(uses)
}
