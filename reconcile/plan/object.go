package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/lastseen"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/reason"
)

// Objects are the objects of the kinds of package kinds.
type Objects struct {
	Wanted  []kind.Desired
	Owned   map[journal.ObjectID]journal.OwnedObject // by the agent
	Orphans map[int]bool                             // vmids of guests that the agent owns and no manifest names
	Guarded []kind.Guarded                           // guests with guards that objects can weaken, sorted by vmid
	Seen    map[object.Key]journal.Seen              // what the agent last saw in effect

	places bool // a guest under HA is to be placed, or may be moved to its node: the rules of affinity are read

	all *Objects // with the objects of all labels, if these are the objects of one label
}

// NewObjects returns the objects of manifests and of the journal, among the guests of the manifests.
func NewObjects(wanted []kind.Desired, guests []guest.Desired, state journal.State) Objects {
	o := Objects{Wanted: wanted, Owned: state.Objects, Seen: state.Seen}
	if len(wanted)+len(o.Owned) > 0 || hasGuardsOfObjects(state.Guarded) || hasOrphans(guests, state) {
		o.Orphans = make(map[int]bool)
		for vmid := range state.Owned {
			o.Orphans[vmid] = true
		}
		for i := range guests {
			delete(o.Orphans, guests[i].VMID)
		}
	}
	o.Guarded = guardedGuests(guests, state, o.Orphans)
	for i := range guests {
		o.places = o.places || toPlaceUnderHA(&guests[i], state) || mayMoveUnderHA(&guests[i], state)
	}
	return o
}

// whole returns the objects of all labels, also of objects that were limited to one.
func (o Objects) whole() Objects {
	if o.all != nil {
		return *o.all
	}
	return o
}

// hasOrphans reports whether the agent owns a guest that no manifest names.
func hasOrphans(guests []guest.Desired, state journal.State) bool {
	named := 0
	for i := range guests {
		if _, isOwned := state.Owned[guests[i].VMID]; isOwned {
			named++
		}
	}
	return named < len(state.Owned)
}

// toPlaceUnderHA reports whether the agent chooses the node of a guest that HA will manage, and that it does not own yet.
func toPlaceUnderHA(d *guest.Desired, state journal.State) bool {
	if d.Placement == nil || d.HA == nil || d.HA.Absent {
		return false
	}
	_, isOwned := state.Owned[d.VMID]
	return !isOwned
}

// mayMoveUnderHA reports whether the agent moves a guest that HA may manage, also without its manifest.
func mayMoveUnderHA(d *guest.Desired, state journal.State) bool {
	isFresh := d.Source.Clone != nil && d.Node != "" && state.Owned[d.VMID].Configuring // a fresh clone goes to its node in any case
	return (isFresh || d.Migrate.Moves()) && (d.HA == nil || !d.HA.Absent)
}

// hasGuardsOfObjects reports whether a guest has guards that changes of objects can weaken.
func hasGuardsOfObjects(records map[int]journal.Guarded) bool {
	for _, g := range records {
		if len(guard.OfObjects(g)) > 0 {
			return true
		}
	}
	return false
}

// OnlyAround returns the objects as what guests are planned among: none of them is planned itself.
func (o Objects) OnlyAround() Objects { return Objects{all: &o} }

// guardedGuests returns the guests with guards that changes of objects can weaken: those of the manifests with the guards in effect, and those whose manifests were
// removed with the guards in force.
func guardedGuests(guests []guest.Desired, state journal.State, orphans map[int]bool) []kind.Guarded {
	var guarded []kind.Guarded
	add := func(ref guest.Ref, guards []guest.GuardField, firewall *guest.FirewallWanted) {
		if len(guards) > 0 && ref.VMID != 0 {
			guarded = append(guarded, kind.Guarded{Ref: ref, Guards: guards, Firewall: firewall})
		}
	}
	for i := range guests {
		add(guests[i].Ref, guests[i].GuardsOfObjects(), guests[i].Firewall)
	}
	for vmid := range orphans {
		if g, known := guard.InForce(state, vmid); known {
			add(guest.Ref{Kind: guest.Kind(g.Kind), Name: g.Name, VMID: vmid}, guard.OfObjects(g), guard.Firewall(g))
		}
	}
	slices.SortFunc(guarded, func(a, b kind.Guarded) int { return cmp.Compare(a.VMID, b.VMID) })
	return guarded
}

// ObjectStep is what a step on an object that is no guest is about.
type ObjectStep struct {
	ID       string
	Identity string           // of its ownership record; "" before there is one
	Seen     *cluster.Object  // as the step was planned from it; nil if it did not exist
	Destroy  guest.Permission // of a removal: the strongest permission of its manifests
	Observe  bool             // its manifest lets the agent report differences only

	Effect  map[string]string // how keys of the object look after the step, "" for one that is removed
	Emptied []string          // of a removal: the list that the object contains after each call about an item
	Content string            // the key of this list
	Whole   *ContentChange    // of a step about an item that is part of a change which weakens guards; nil if it weakens none
	Fills   bool              // the list differs from the wanted one before the step
	Reaches []object.Key      // guests, pools and edge.Everything that the object reaches before and after the step
	Forces  []object.Key      // of them, those that it moves, stops or pauses after the step
	Chosen  []object.Key      // guests that the step brings into the object or takes out of it, if their labels decide that
	Guarded map[string]string // new texts of the keys on which guards of guests depend, as they are recorded; of a list at its end
}

// Reads returns the kinds whose objects have to be read, with the ids of those that matter. A kind is not read that no manifest and no record names, and whose guard
// no guest has. The rules of affinity are also read while a guest that may be under HA is to be placed, or
// to be moved to its node.
func (o Objects) Reads() map[guest.Kind][]string {
	reads := make(map[guest.Kind][]string)
	for _, d := range o.Wanted {
		reads[d.Kind] = append(reads[d.Kind], d.ID)
		for _, need := range d.Needs {
			if !kind.IsOfFirewall(need.Kind) { // Proxmox refuses a rule that names nothing, but no job of a pool that does not exist
				reads[need.Kind] = append(reads[need.Kind], need.ID)
			}
		}
	}
	for id := range o.Owned {
		reads[guest.Kind(id.Kind)] = append(reads[guest.Kind(id.Kind)], id.ID)
	}
	for name, ids := range reads {
		slices.Sort(ids)
		reads[name] = slices.Compact(ids)
	}
	for name, ids := range o.namedByGuarded(reads) {
		ids = append(ids, reads[name]...)
		slices.Sort(ids)
		reads[name] = slices.Compact(ids)
	}
	if o.places && reads[kinds.AffinityRules] == nil {
		reads[kinds.AffinityRules] = []string{}
	}
	if len(o.Orphans) > 0 && reads[kinds.Replications] == nil {
		reads[kinds.Replications] = []string{} // a job, also one that is not the agent's, keeps its guest from being destroyed
	}
	for _, k := range kinds.All() {
		isGuarded := func(g kind.Guarded) bool { return g.Has(k.Guard) }
		if reads[k.Name] == nil && k.Guard != "" && slices.ContainsFunc(o.Guarded, isGuarded) {
			reads[k.Name] = []string{}
		}
	}
	if slices.ContainsFunc(o.Guarded, func(g kind.Guarded) bool { return g.Has(guest.GuardBackup) }) {
		reads[cluster.Storages] = []string{} // two may be one place
	}
	return reads
}

// IDs returns the ids of the objects of a kind, sorted.
func (o Objects) IDs(name guest.Kind) []string {
	var ids []string
	for _, d := range o.Wanted {
		if d.Kind == name {
			ids = append(ids, d.ID)
		}
	}
	for id := range o.Owned {
		if id.Kind == string(name) {
			ids = append(ids, id.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// GuardFirewalls reports whether a guest guards its firewall.
func (o Objects) GuardFirewalls() bool {
	return slices.ContainsFunc(o.Guarded, func(g kind.Guarded) bool { return g.Has(guest.GuardFirewall) })
}

// namedByGuarded returns the objects that guarded firewalls name, and those that objects with manifests name, by kind. They are read if an object of the datacenter's
// firewall may change: what names it then has to be known. A cluster without such objects causes no call.
func (o Objects) namedByGuarded(reads map[guest.Kind][]string) map[guest.Kind][]string {
	named := make(map[guest.Kind][]string)
	if reads[kind.FirewallAliases] == nil && reads[kind.FirewallSets] == nil && reads[kind.FirewallGroups] == nil {
		return named
	}
	for _, g := range o.Guarded {
		if !g.Has(guest.GuardFirewall) || g.Firewall == nil {
			continue
		}
		for _, need := range kinds.FirewallNeeds(g.Firewall) {
			named[need.Kind] = append(named[need.Kind], need.ID)
		}
	}
	if len(named) == 0 {
		return named
	}
	for _, d := range o.Wanted {
		for _, need := range d.Needs {
			if kind.IsOfFirewall(need.Kind) {
				named[need.Kind] = append(named[need.Kind], need.ID)
			}
		}
	}
	return named
}

// For returns the objects of one label: the one that a manifest describes, and the owned ones that had the label and that no manifest describes.
func (o Objects) For(label string) Objects {
	one := Objects{Owned: make(map[journal.ObjectID]journal.OwnedObject), Orphans: o.Orphans, Guarded: o.Guarded, Seen: o.Seen, all: &o}
	wanted := o.wantedIDs()
	for _, d := range o.Wanted {
		if id := objectID(d); d.Label() == label {
			one.Wanted = append(one.Wanted, d)
			if owned, isOwned := o.Owned[id]; isOwned {
				one.Owned[id] = owned
			}
		}
	}
	for id, owned := range o.Owned {
		if !wanted[id] && refOf(owned).Label() == label {
			one.Owned[id] = owned
		}
	}
	return one
}

// wantedIDs returns what manifests describe.
func (o Objects) wantedIDs() map[journal.ObjectID]bool {
	ids := make(map[journal.ObjectID]bool, len(o.Wanted))
	for _, d := range o.Wanted {
		ids[objectID(d)] = true
	}
	return ids
}

func objectID(d kind.Desired) journal.ObjectID {
	return journal.ObjectID{Kind: string(d.Kind), ID: d.ID}
}

func refOf(owned journal.OwnedObject) guest.Ref {
	return guest.Ref{Kind: guest.Kind(owned.Kind), Name: owned.Name}
}

// planObjects plans the objects of manifests, and the removal of owned objects that no manifest describes. An object whose manifest got another id is
// planned with the object that the manifest described before.
func planObjects(want Desired, got cluster.Snapshot) []Guest {
	var planned []Guest
	places := make(map[guest.Ref]int, len(want.Objects.Wanted)) // in planned
	for _, d := range want.Objects.Wanted {
		places[d.Ref()] = len(planned)
		planned = append(planned, planObject(want, d, got))
	}
	wanted := want.Objects.wantedIDs()
	orphans := slices.SortedFunc(maps.Values(want.Objects.Owned), func(a, b journal.OwnedObject) int { return compareObjects(a.Object(), b.Object()) })
	for _, owned := range orphans {
		if wanted[owned.Object()] {
			continue
		}
		removal := planObjectRemoval(want, owned, got)
		if i, isPlanned := places[removal.Ref]; isPlanned {
			planned[i].Steps = append(planned[i].Steps, removal.Steps...)
			planned[i].Conditions = append(planned[i].Conditions, removal.Conditions...)
			continue
		}
		places[removal.Ref] = len(planned)
		planned = append(planned, removal)
	}
	return planned
}

func compareObjects(a, b journal.ObjectID) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
}

// readObject returns an object of a reading and whether it exists, or the condition if that is not known.
func readObject(name guest.Kind, id string, got cluster.Snapshot) (live cluster.Object, exists bool, doubt *Condition) {
	unknown := func(message string) *Condition {
		return &Condition{Type: NotObserved, Reason: reason.NotObserved, Message: message}
	}
	list := got.Objects[name]
	live, exists = list.ByID[id]
	switch {
	case list.Err != "":
		return live, exists, unknown(fmt.Sprintf("the objects of the kind %s could not be read: %s", name, list.Err))
	case !list.Knows(id) && list.Unread[id] != "":
		return live, exists, unknown(fmt.Sprintf("%s could not be read: %s", id, list.Unread[id]))
	case !list.Knows(id):
		return live, exists, unknown(fmt.Sprintf("%s was not read yet", id))
	}
	return live, exists, nil
}

// objectPlan is the state of planning one object of a manifest.
type objectPlan struct {
	*Guest
	kind    *kind.Kind
	want    Desired
	desired kind.Desired
	got     cluster.Snapshot
	live    cluster.Object
	exists  bool
	edges   []edge.Edge
	owned   journal.OwnedObject
}

// planObject plans an object of a manifest.
func planObject(want Desired, d kind.Desired, got cluster.Snapshot) Guest {
	p := Guest{Ref: d.Ref(), Origin: d.Origin, Managed: true}
	k, known := kinds.Of(d.Kind)
	if !known {
		return p
	}
	o := objectPlan{Guest: &p, kind: k, want: want, got: got}
	var doubt *Condition
	if o.live, o.exists, doubt = readObject(d.Kind, d.ID, got); doubt != nil {
		p.Conditions = append(p.Conditions, *doubt)
		return p
	}
	p.Present, p.ReadAt = o.exists, got.Objects[d.Kind].ReadAt
	var blocked *Condition
	if o.desired, blocked = resolveGuests(k, d, want, got, o.live); blocked != nil {
		p.Conditions = append(p.Conditions, *blocked)
		return p
	}
	o.edges = k.EdgesOf(kind.Want{Desired: o.desired, Live: o.live}, kind.World{Observed: got})
	o.follow()
	p.Schedules = k.Schedules(o.desired)
	if p.NeverRuns = o.neverRuns(); p.NeverRuns {
		p.Conditions = append(p.Conditions, Condition{
			Type: Warned, Reason: reason.NoBackup, Message: fmt.Sprintf("the %s %s never runs: Proxmox has no next time for its schedule", k.Noun, d.ID),
			Hint: reason.ChangeSchedule.Text,
		})
	}
	if missing := o.missingNeed(); missing != nil {
		p.Conditions = append(p.Conditions, *missing)
		if !o.exists {
			return p
		}
	}
	var awaits *Condition
	if !o.exists {
		awaits = o.awaits()
	}
	var isOwned bool
	o.owned, isOwned = want.Objects.Owned[objectID(d)]
	_, marker := kind.SplitComment(o.live.Keys[k.Note.Key])
	if isOwned && !o.exists && !o.owned.Claiming {
		p.Lost = []string{KeyExists}
	}
	claims := o.owned.Claiming && o.owned.Origin == journal.Adopted && marker == ""
	switch {
	case awaits != nil:
		p.Conditions = append(p.Conditions, *awaits)
	case !o.exists:
		o.add(isOwned)
	case k.Leaving(o.live) != "":
		p.Conditions = append(p.Conditions, leavingCondition(k, d.ID, o.live))
	case isOwned && (marker == o.owned.Marker || claims):
		o.set(false)
	case marker != "":
		p.Conditions = append(p.Conditions, Condition{
			Type: IdentityConflict, Reason: reason.NotManaged, Message: fmt.Sprintf("the %s %s has the marker %s of another owner", k.Noun, d.ID, marker),
			Hint: reason.RemoveForeignWord.Text,
		})
	case d.Adopt:
		o.owned = journal.OwnedObject{}
		o.set(true)
	case isOwned && !o.owned.Claiming:
		o.restoreMarker()
	default:
		p.Conditions = append(p.Conditions, o.notManaged(isOwned))
	}
	if slices.ContainsFunc(p.Conditions, isConflict) {
		p.dependents = o.guardedBy()
	}
	return p
}

// withLeftAlone warns at guests that their guards depend on objects that the agent leaves alone: what such an object means is not repaired.
func withLeftAlone(guests, objects []Guest) {
	for _, o := range objects {
		for _, ref := range o.dependents { // of an object with such a condition alone
			c := o.Conditions[slices.IndexFunc(o.Conditions, isConflict)]
			if i := slices.IndexFunc(guests, func(g Guest) bool { return g.Ref == ref }); i >= 0 {
				guests[i].Conditions = append(guests[i].Conditions, Condition{Type: Warned, Reason: c.Reason, Message: "a guard of it depends on " + o.Ref.Label() + ", which is not repaired: " + c.Message, Hint: c.Hint})
			}
		}
	}
}

func isConflict(c Condition) bool { return c.Type == IdentityConflict }

// restoreMarker plans an owned object without any marker: Proxmox itself drops the comment of an alias that is edited on the command line. An object that has the id, and in all other keys
// the values that the agent last saw in effect, is the same one. Any other object may be another one, so its step names in an approval what it overwrites.
func (o objectPlan) restoreMarker() {
	o.Unmarked = true
	o.set(false)
	seen := lastseen.OfRecord(o.want.Objects.Seen, object.KeyOf(0, o.Ref.Label()), o.owned.Identity)
	if lastseen.IsAsSeen(seen, lastseen.OfObject(o.live), o.kind.Note.Key) {
		return
	}
	o.Conditions = append(o.Conditions, o.notManaged(true))
	for i := range o.Steps {
		o.Steps[i].Doubt = fmt.Sprintf("it overwrites the %s %s, whose comment lacks the marker %s and whose other values are not those that the agent last saw%s", o.kind.Noun, o.desired.ID, o.owned.Marker, o.overwritten())
	}
}

// overwritten names each value that the agent replaces, with the new one, and those of a list that it replaces afterwards: once the object has its marker again, nothing
// holds these steps. It is empty if the marker alone is missing.
func (o objectPlan) overwritten() string {
	var values []string
	for _, c := range o.Changes {
		from, _ := kind.SplitComment(c.From)
		if to, _ := kind.SplitComment(c.To); c.Key == o.kind.Note.Key && from == to {
			continue
		}
		values = append(values, fmt.Sprintf("%s: %q -> %q", c.Key, c.From, c.To))
	}
	if len(values) == 0 {
		return ""
	}
	return ": " + strings.Join(values, ", ")
}

// follow accepts what Proxmox itself changed, because a guest moved.
func (o *objectPlan) follow() {
	for _, e := range o.edges {
		if e.Why != edge.Follows {
			continue
		}
		at := slices.IndexFunc(o.desired.Keys, func(in kind.Intent) bool { return in.Key == e.Field })
		o.desired.Put(kind.Intent{Key: e.Field, Text: o.live.Keys[e.Field], Origin: o.desired.Keys[at].Origin})
		o.Conditions = append(o.Conditions, Condition{Type: Warned, Reason: reason.OtherNode, Message: e.Text, Hint: e.Hint})
	}
}

// awaits returns the condition of an object that cannot be made yet, nil if it can: Proxmox refuses it without a guest that it needs, and while another object has what
// only one may have. It waits for a guest that a manifest describes.
func (o objectPlan) awaits() *Condition {
	for _, e := range o.edges {
		if _, exists := o.got.Inventory.Row(e.To.VMID); e.Why == edge.NeedsFirst && e.To.VMID != 0 && !exists {
			if d, described := o.want.described(func(d *guest.Desired) bool { return d.VMID == e.To.VMID }); described {
				return waitsFor("it needs %s, which does not exist yet", d.Label())
			}
			return o.cannotBeMade(fmt.Sprintf("guest %d does not exist", e.To.VMID))
		}
		if e.Why == edge.ExclusiveWith {
			for other := range o.want.derived.live().To(e.To, edge.ExclusiveWith) {
				return o.cannotBeMade(other.Text)
			}
		}
	}
	return nil
}

func (o objectPlan) cannotBeMade(why string) *Condition {
	return &Condition{Type: Blocked, Reason: reason.Awaits, Message: fmt.Sprintf("the %s %s cannot be made yet: %s", o.kind.Noun, o.desired.ID, why)}
}

// waitsFor returns the condition of what waits for something that manifests describe. It is no fault.
func waitsFor(format string, args ...any) *Condition {
	return &Condition{Type: WaitsFor, Reason: reason.WaitsFor, Message: fmt.Sprintf(format, args...)}
}

// described returns the first guest of a manifest of which something is true, and whether there is one.
func (want Desired) described(is func(d *guest.Desired) bool) (*guest.Desired, bool) {
	for _, list := range [][]guest.Desired{want.Guests, want.Others} {
		if i := slices.IndexFunc(list, func(d guest.Desired) bool { return is(&d) }); i >= 0 {
			return &list[i], true
		}
	}
	return nil, false
}

// missingNeed returns the condition of an object that needs another one which certainly does not exist: nothing is made of it, and what exists has no effect. Of an
// object that is to be made, the order of the plan says what it waits for if a manifest describes the other one.
func (o objectPlan) missingNeed() *Condition {
	wanted := o.want.Objects.whole()
	for _, e := range o.edges {
		name, id := guest.Kind(e.To.Kind()), edge.ID(e.To)
		if e.Why != edge.NeedsFirst || e.To.VMID != 0 {
			continue
		}
		list := o.got.Objects[name]
		if _, exists := list.ByID[id]; exists || !list.Knows(id) || kind.IsOfFirewall(name) { // Proxmox refuses a rule that names nothing
			continue
		}
		if at := slices.IndexFunc(wanted.Wanted, func(d kind.Desired) bool { return d.Kind == name && d.ID == id }); at >= 0 {
			if o.exists {
				return waitsFor("it needs %s, which does not exist yet", wanted.Wanted[at].Label())
			}
			continue
		}
		what := id
		if k, known := kinds.Of(name); known {
			what = "the " + k.Noun + " " + id
		}
		return &Condition{
			Type: Blocked, Reason: reason.Awaits, Message: what + ", which the manifest names, does not exist",
			Hint: reason.AddNamed.Text,
		}
	}
	return nil
}

// notManaged returns the condition of an object that exists and that the agent does not own.
func (o objectPlan) notManaged(isOwned bool) Condition {
	c := Condition{
		Type: IdentityConflict, Reason: reason.NotManaged, Message: fmt.Sprintf("the %s %s exists, and the manifest does not ask to adopt it", o.kind.Noun, o.desired.ID),
		Hint: reason.AdoptObject.Text,
	}
	if isOwned {
		c.Message = fmt.Sprintf("the comment of the %s %s lacks the marker %s, so it may be another one", o.kind.Noun, o.desired.ID, o.owned.Marker)
		c.Hint = reason.RestoreObjectMarker.Text
	}
	return c
}

// resolveGuests puts the vmids of the guests that a manifest names or selects into its keys, which are then those of the cluster's release. It returns a condition if
// that is not possible now.
func resolveGuests(k *kind.Kind, d kind.Desired, want Desired, got cluster.Snapshot, live cluster.Object) (kind.Desired, *Condition) {
	if k.Resolve == nil && k.Native == nil {
		return d, nil
	}
	found := kind.Found{HA: want.derived.managedByHA(), Orphans: want.Objects.Orphans, Live: live, Others: got.Objects[k.Name].ByID, Release: got.Inventory.Version}
	if len(d.Guests) > 0 {
		found.Named = want.derived.refs()
	}
	for _, list := range [][]guest.Desired{want.Others, want.Guests} {
		if len(d.Selects) == 0 {
			break
		}
		for i := range list {
			if g := &list[i]; g.VMID != 0 && hasLabels(g.Labels, d.Selects) {
				found.Selected = append(found.Selected, g.Ref)
			}
		}
	}
	slices.SortFunc(found.Selected, func(a, b guest.Ref) int { return cmp.Compare(a.VMID, b.VMID) })
	found.Selected = slices.Compact(found.Selected)
	for _, g := range d.Guests {
		if found.Named[g.Label].VMID == 0 {
			return d, waitsFor("it names %s, which does not exist yet", g.Label)
		}
	}
	resolved := d
	for _, of := range []func(kind.Desired, kind.Found) (kind.Desired, *kind.Unresolved){k.Resolve, k.Native} {
		if of == nil {
			continue
		}
		var why *kind.Unresolved
		if resolved, why = of(resolved, found); why != nil {
			if waits := want.waitsForGuests(d, why); waits != nil {
				return d, waits
			}
			return d, &Condition{Type: Blocked, Reason: causes[why.Cause], Message: why.Message, Hint: why.Hint}
		}
	}
	return resolved, nil
}

// waitsForGuests returns the condition of an object that cannot be resolved before guests of manifests are made, or are under HA, as their manifests want it; nil if that
// is not the cause.
func (want Desired) waitsForGuests(d kind.Desired, why *kind.Unresolved) *Condition {
	var waits []string
	switch why.Cause {
	case kind.SelectsNone:
		if g, described := want.described(func(g *guest.Desired) bool { return g.VMID == 0 && hasLabels(g.Labels, d.Selects) }); described {
			return waitsFor("it selects %s, which does not exist yet", g.Label())
		}
		return nil
	case kind.NotInHA:
		for _, vmid := range why.Guests {
			g, described := want.described(func(g *guest.Desired) bool { return vmid != 0 && g.VMID == vmid && g.HA != nil && !g.HA.Absent })
			if !described {
				return nil
			}
			waits = append(waits, g.Label())
		}
	case kind.Impossible:
	}
	if len(waits) == 0 {
		return nil
	}
	return waitsFor("it names %s, which the HA manager does not manage yet", strings.Join(waits, ", "))
}

// causes are the reasons of conditions for what a kind cannot resolve.
var causes = map[kind.Cause]reason.Name{kind.SelectsNone: reason.Awaits, kind.NotInHA: reason.Awaits, kind.Impossible: reason.Impossible}

// managedByHA returns the vmids of the guests that the HA manager manages.
func managedByHA(got cluster.Snapshot) map[int]bool {
	managed := make(map[int]bool)
	for _, row := range got.Inventory.Rows {
		if row.HAState != "" {
			managed[row.VMID] = true
		}
	}
	for vmid, seen := range got.Guests {
		if seen.HA {
			managed[vmid] = true
		}
	}
	return managed
}

// hasLabels reports whether a guest has all labels of a selection.
func hasLabels(labels, selects map[string]string) bool {
	for name, value := range selects {
		if labels[name] != value {
			return false
		}
	}
	return true
}

// add plans an object that does not exist.
func (o objectPlan) add(isOwned bool) {
	set := make(map[string]string)
	for _, in := range o.desired.Keys {
		if in.Text == "" || in.Key == o.kind.ContentKey() {
			continue
		}
		set[in.Key] = in.Text
		if in.Key != o.kind.Note.Key {
			o.change(in.Key, "", in.Text, in.Origin)
		}
	}
	comment, _ := o.desired.Text(o.kind.Note.Key)
	set[o.kind.Note.Key] = kind.WithMarker(comment, o.owned.Marker)
	o.change(o.kind.Note.Key, "", set[o.kind.Note.Key], o.desired.Origin)
	o.contentChanges()
	o.step(kind.Change{Op: cluster.OpObjectAdd, ID: o.desired.ID, Set: set}, "it does not exist", !isOwned)
}

// set plans an object that exists. Adopts takes ownership of it first.
func (o objectPlan) set(adopts bool) {
	c := kind.Change{Op: cluster.OpObjectSet, ID: o.desired.ID, Got: o.live, Set: make(map[string]string)}
	comment, _ := kind.SplitComment(o.live.Keys[o.kind.Note.Key])
	origin := o.desired.Origin
	for _, in := range o.desired.Keys {
		switch {
		case in.Key == o.kind.Note.Key:
			comment, origin = in.Text, in.Origin
		case in.Key == o.kind.ContentKey():
		case in.Text == o.live.Keys[in.Key]:
		case in.Text == "":
			c.Delete = append(c.Delete, in.Key)
			o.change(in.Key, o.live.Keys[in.Key], "", in.Origin)
		default:
			c.Set[in.Key] = in.Text
			o.change(in.Key, o.live.Keys[in.Key], in.Text, in.Origin)
		}
	}
	for _, f := range o.kind.Fields {
		if _, changes := c.Set[f.Key]; f.Fixed && changes {
			o.Conditions = append(o.Conditions, Condition{
				Type: Blocked, Reason: reason.Impossible, Message: fmt.Sprintf("Proxmox cannot change %s of %s", f.Key, o.kind.One()),
				Hint: reason.NewID.Text,
			})
			return
		}
	}
	if strings.ContainsAny(comment, "\r\n") {
		o.Conditions = append(o.Conditions, Condition{
			Type: Blocked, Reason: reason.Impossible, Message: "its comment has several lines, and the agent writes one line only", Hint: reason.SetComment.Text,
		})
		return
	}
	if text := kind.WithMarker(comment, o.owned.Marker); text != o.live.Keys[o.kind.Note.Key] {
		if o.kind.Note.ASCII && strings.ContainsFunc(comment, func(r rune) bool { return r > unicode.MaxASCII }) {
			o.Conditions = append(o.Conditions, Condition{
				Type: Blocked, Reason: reason.Impossible, Message: fmt.Sprintf("the comment of the %s %s has characters that Proxmox returns damaged, so the agent cannot write it again", o.kind.Noun, o.desired.ID),
				Hint: reason.SetComment.Text,
			})
			return
		}
		c.Set[o.kind.Note.Key] = text
		o.change(o.kind.Note.Key, o.live.Keys[o.kind.Note.Key], text, origin)
	}
	o.contentChanges()
	switch {
	case adopts:
		o.step(c, "adopt: ifUnmanaged", true)
	case len(c.Set)+len(c.Delete) > 0:
		o.step(c, "it differs from its manifest", false)
	default:
		o.contentStep()
	}
}

// neverRuns reports whether an object that exists has a schedule without a next time. Proxmox says so of backup jobs. Of other objects it follows from the calendar, if no
// time is left from a day before the reading: the zone of the node is not known.
func (o objectPlan) neverRuns() bool {
	if !o.exists || o.live.Never {
		return o.exists
	}
	return slices.ContainsFunc(o.Schedules, func(s kind.Schedule) bool {
		_, comes := s.Event.Next(o.ReadAt.AddDate(0, 0, -1), time.UTC)
		return !comes && o.live.Keys[s.Key] == s.Text
	})
}

// change notes a difference.
func (o objectPlan) change(key, from, to string, origin guest.Origin) {
	write := guest.WriteSet
	if to == "" {
		write = guest.WriteDelete
	}
	note := ""
	for _, s := range o.kind.Schedules(o.desired) {
		if s.Key == key && s.Text == to {
			note = "runs " + s.Event.String()
		}
	}
	o.Changes = append(o.Changes, guest.Change{Key: key, From: from, To: to, Class: guest.Live, Write: write, Value: to, Origin: origin, Note: note})
}

// chosen returns the guests that enter or leave the object because of their labels.
func (o objectPlan) chosen() []object.Key {
	if len(o.desired.Selects) == 0 {
		return nil
	}
	before, after := o.kind.ReachedBy(kind.Desired{Kind: o.desired.Kind, ID: o.desired.ID}, o.live), o.kind.ReachedBy(o.desired, cluster.Object{})
	return slices.DeleteFunc(slices.Concat(before, after), func(key object.Key) bool {
		return key.VMID == 0 || slices.Contains(before, key) && slices.Contains(after, key)
	})
}

// step adds the step that makes a change.
func (o objectPlan) step(c kind.Change, reason string, takes bool) {
	slices.Sort(c.Delete)
	c.Agreed = sureTexts(o.owned)
	s := Step{
		Guest: o.Ref, Op: c.Op, Class: guest.Live, Changes: o.Changes, Calls: objectCalls(o.kind, c), Reason: reason, TakesOwnership: takes, File: o.desired.Origin.File,
		Object: &ObjectStep{ID: c.ID, Identity: o.owned.Identity, Observe: o.desired.Observe, Effect: effectOf(c), Fills: o.contentDiffers(), Guarded: changedGuardKeys(o.kind, c), Reaches: o.kind.ReachedBy(o.desired, o.live), Forces: o.kind.ForcedBy(o.desired, o.live), Chosen: o.chosen()},
		Loses:  weakenings(o.kind, c, o.want, o.got),
	}
	if o.exists {
		s.Object.Seen = &o.live
	}
	o.Steps = append(o.Steps, s)
}

// effectOf returns how the keys of an object look after a change.
func effectOf(c kind.Change) map[string]string {
	effect := maps.Clone(c.Set)
	for _, key := range c.Delete {
		effect[key] = ""
	}
	return effect
}

func objectCalls(k *kind.Kind, c kind.Change) []cluster.Call {
	if k.Calls == nil {
		return []cluster.Call{c.Single(k.Name)}
	}
	return k.Calls(c)
}

// IsOwnedObject reports whether a live object has the marker of its record.
func IsOwnedObject(k *kind.Kind, owned journal.OwnedObject, live cluster.Object) bool {
	_, marker := kind.SplitComment(live.Keys[k.Note.Key])
	return marker != "" && marker == owned.Marker
}
