package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/queue"
)

// Step is one piece of work on one guest. Most steps are one Call. A destroy has several calls that run together or not at all, because a
// partial destroy (a stopped, unprotected guest) is worse than none.
type Step struct {
	Guest           guest.Ref
	Op              cluster.Op
	Class           guest.Class
	Wave            int
	Changes         []guest.Change // for people; empty for run-state steps
	Calls           []cluster.Call
	Volumes         []string        // volumes that the step destroys, sorted
	DetachedVolumes []string        // volumes in the slots that the step empties, fills again or moves: "scsi1=local-lvm:vm-201-disk-1"; sorted
	CopyTargets     []string        // storages to which the step writes whole volumes; "@pve1", the storages of the template's node, for a clone that names none
	Pending         []string        // values that a restart brings into effect, including those that others wrote: "key=value", or "key" for a key that is removed; sorted
	Touches         []cluster.Touch // volumes on which the calls act in a way that matters to other guests; sorted
	Protected       bool            // the protection of the guest stands against the step: it is set, or an open step has lifted it
	Doubt           string          // why the step may not be meant for the present guest; the step then needs an approval
	Unproven        bool            // ownership record and marker did not agree when the step was planned; Doubt says so for people
	ClearsLeftover  bool            // the step clears the firewall of a free vmid, so the guest must not exist
	TakesOwnership  bool            // the step creates or adopts the guest: its identity must be in the journal first
	Recreates       bool            // the guest existed and is gone, and the agent did not destroy it
	AfterAdoption   bool            // the guest is adopted first: the identity that an approval names does not exist yet
	Reason          string          // for people: "removed from the repository", "state: running"

	Snapshot string   // of an order that deletes a snapshot or brings it back: its name and time
	Restores []string // of a rollback: what it changes in the configuration; of guards with the values

	Order   *order.Open // the signed order that asks for the step; nil for a step of a plan
	Refused string      // of an order: why the guest does not allow it now, which ends the order; such a step has no calls

	File      string      // of an Image or an object of package kinds: where its manifest lies; "" without one
	Object    *ObjectStep // of an object of package kinds
	Hindrance Hindrance   // what keeps the guest from being started, of a step that starts it, or a disk from being made or from growing

	runs    bool // the guest ran when the step was planned
	resumes bool // of a rollback: the snapshot contains the memory, so the guest runs afterwards

	Prunes bool             // of a download: the manifest lets the agent delete the file when nothing uses it any more
	Former *journal.File    // of the deletion of a file: the record of its download
	Loses  []kind.Weakening // what the step takes from guests with guards; it then needs an approval

	GoneVMID int              // of a step that creates a gone guest again: the vmid of the journal's record, if it is not the guest's
	Weakens  *guard.Weakening // of the operation OpWeaken: what an approval puts into force; such a step has no calls
}

// OpWeaken puts a weaker guard into force. It is no call to Proxmox, so the table of the package cluster does not contain it.
const OpWeaken cluster.Op = "weaken"

// OpRollout stands for everything that a rollout keeps from a guest until the guest is released. It is in no plan: the report lists it as held.
const OpRollout cluster.Op = "rollout"

// Digest identifies the exact step in an approval: 32 hexadecimal digits over the cluster, the guest's identity, the destroyed and detached
// volumes, whether the protection of the guest stands against the step, and every call of the step but those that lift the protection for the others and set
// it again. Of a change of a list that an object contains, it covers the list at the end in place of the calls. The node and Proxmox's config digest are not part of it: migrations, backups and snapshots change them
// without changing the effect of the step.
func (s Step) Digest(clusterName, identity string) string {
	if s.Weakens != nil {
		return s.Weakens.Digest
	}
	type call struct {
		Op      cluster.Op        `json:"op"`
		CloneOf int               `json:"cloneOf,omitempty"`
		Params  map[string]string `json:"params,omitempty"`
		Secrets map[string]string `json:"secrets,omitempty"`
		Delete  []string          `json:"delete,omitempty"`

		Firewall cluster.FirewallCall `json:"firewall,omitzero"`
	}
	subject := struct {
		Cluster   string     `json:"cluster"`
		Kind      guest.Kind `json:"kind"`
		VMID      int        `json:"vmid"`
		Identity  string     `json:"identity"`
		Op        cluster.Op `json:"op"`
		Volumes   []string   `json:"volumes,omitempty"`
		Leaves    []string   `json:"leaves,omitempty"`
		Pending   []string   `json:"pending,omitempty"`
		Doubt     string     `json:"doubt,omitempty"`
		Order     string     `json:"order,omitempty"`
		Snapshot  string     `json:"snapshot,omitempty"`
		Restores  []string   `json:"restores,omitempty"`
		Object    string     `json:"object,omitempty"`
		Loses     []string   `json:"loses,omitempty"`
		Content   string     `json:"content,omitempty"`
		Protected bool       `json:"protected,omitempty"`
		Calls     []call     `json:"calls"`
	}{clusterName, s.Guest.Kind, s.Guest.VMID, identity, s.Op, s.Volumes, s.DetachedVolumes, s.Pending, s.Doubt, "", s.Snapshot, s.Restores, "", nil, "", s.Protected, nil}
	if s.Object != nil {
		subject.Object = s.Object.ID
	}
	for _, w := range s.Loses {
		subject.Loses = append(subject.Loses, w.String())
	}
	calls := s.Calls
	if s.Object != nil && s.Object.Whole != nil {
		subject.Content, subject.Loses, calls = s.Object.Whole.Final, nil, nil // the whole change, and not the call that comes next
		for _, ref := range s.Object.Whole.Concerns {
			subject.Loses = append(subject.Loses, ref.String())
		}
	}
	if s.Order != nil {
		subject.Order = s.Order.Key // an approval releases this order and no later one
	}
	for _, c := range calls {
		if (s.Op == cluster.OpDestroy || s.Op == cluster.OpObjectRemove) && c.Op != s.Op {
			continue // every destroy includes lifting protection and stopping, and every removal emptying the object, and so do those that were interrupted after them
		}
		if s.Lifts() && (IsLift(c) || IsProtect(c)) {
			continue // they are missing if the protection was lifted or taken away meanwhile, and Protected says that it stood
		}
		removed := slices.Clone(c.Delete)
		slices.Sort(removed)
		subject.Calls = append(subject.Calls, call{c.Op, c.CloneOf, c.Params, c.Secrets, removed, c.Firewall})
	}
	// Marshalling strings, numbers and sorted maps cannot fail.
	text, _ := json.Marshal(subject)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Starts reports whether a guest that does not run runs after the step: it is started by itself or by the HA manager, or comes back from a snapshot with memory. The
// HA manager starts a guest that is added without a state. A restart is not among them, since it is for guests that run: see cluster.Op.Boots.
func (s Step) Starts() bool {
	switch s.Op { //nolint:exhaustive // the others start no guest
	case cluster.OpStart:
		return true
	case cluster.OpRollback:
		return s.resumes
	case cluster.OpHAAdd, cluster.OpHASet:
		state := s.Calls[0].Params["state"]
		return !s.runs && (state == "started" || state == "" && s.Op == cluster.OpHAAdd)
	}
	return false
}

// Creates reports whether the step creates its guest or object.
func (s Step) Creates() bool { return s.Op == cluster.OpCreate || s.Op == cluster.OpObjectAdd }

// BringsUp reports whether others wait until the guest or object exists or runs, so that the step waits for dependencies and lower waves itself.
func (s Step) BringsUp() bool { return s.Creates() || s.Starts() }

// NeedsObject reports whether the step waits only for the objects that its call names: a pool, an alias, or the file of an Image that has a manifest.
func (s Step) NeedsObject() bool {
	return s.Op == cluster.OpPool || s.Op == cluster.OpObjectSet || s.Op == cluster.OpFirewall || s.Op == cluster.OpConfig && s.namesVolume(":"+string(image.ISO)+"/")
}

// namesVolume reports whether a parameter of a call contains the name of a volume, or a part of it.
func (s Step) namesVolume(name string) bool {
	return slices.ContainsFunc(s.Calls, func(c cluster.Call) bool {
		for _, text := range c.Params {
			if strings.Contains(text, name) {
				return true
			}
		}
		return false
	})
}

// NeedsDependencies reports whether the step waits until the guests on which its guest depends have converged and are ready: it creates, starts or
// interrupts the guest, and neither stops nor destroys it.
func (s Step) NeedsDependencies() bool {
	interrupts := s.Class == guest.Disruptive || s.Class == guest.Destructive
	return s.BringsUp() || interrupts && !s.TakesDown() && s.Op != OpWeaken
}

// TakesDown reports whether the guest stays down after the step: it stops or destroys the guest, by itself or by the HA manager. The step waits until the
// guests that depend on the guest are down, as far as they shall be.
func (s Step) TakesDown() bool {
	if s.Op != cluster.OpHAAdd && s.Op != cluster.OpHASet {
		return s.Op == cluster.OpDestroy || s.Op.Reaches() == guest.StatusStopped
	}
	state := s.Calls[0].Params["state"]
	return state == "stopped" || state == "disabled"
}

// Holds returns the objects whose lanes the step needs, sorted: the guest's and, for a clone, the template's, which would be locked for a
// second clone at the same time.
func (s Step) Holds() []object.Key {
	keys := []object.Key{object.KeyOf(s.Guest.VMID, s.Guest.Label())}
	for _, c := range s.Calls {
		if c.CloneOf != 0 {
			keys = append(keys, object.Guest(c.CloneOf))
		}
	}
	slices.SortFunc(keys, object.Key.Compare)
	return slices.Compact(keys)
}

// Uses returns the resources that the step shares with the steps of other guests: the nodes of its calls, and the storages to which it writes
// whole volumes. A storage is identified by its name alone, since one storage may serve all nodes.
func (s Step) Uses() []queue.Resource {
	var uses []queue.Resource
	for _, c := range s.Calls {
		if c.Node != "" { // any node carries out a call about an object of the cluster
			uses = append(uses, queue.Resource{Node: c.Node})
		}
	}
	for _, storage := range s.CopyTargets {
		uses = append(uses, queue.Resource{Storage: storage})
	}
	return queue.CompactResources(uses)
}
