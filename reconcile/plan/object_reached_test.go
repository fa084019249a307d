package plan_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// randomFirewallWorld is a datacenter's firewall with objects that name each other, and guests that guard their firewalls.
type randomFirewallWorld struct {
	*rand.Rand
	objects plan.Objects
	live    map[guest.Kind]map[string]cluster.Object
	seen    cluster.Snapshot
}

var firewallIDs = map[guest.Kind][]string{
	kind.FirewallAliases: {"alias-0", "alias-1"}, kind.FirewallSets: {"set-0", "set-1", "set-2", "set-3"}, kind.FirewallGroups: {"group-0", "group-1", "group-2"},
}

func newRandomFirewallWorld(seed uint64) *randomFirewallWorld {
	w := &randomFirewallWorld{Rand: rand.New(rand.NewPCG(seed, 0)), live: make(map[guest.Kind]map[string]cluster.Object)}
	w.objects.Owned = make(map[journal.ObjectID]journal.OwnedObject)
	for _, name := range []guest.Kind{kind.FirewallAliases, kind.FirewallSets, kind.FirewallGroups} {
		ids := firewallIDs[name]
		w.live[name] = make(map[string]cluster.Object)
		for _, id := range ids {
			if w.IntN(5) > 0 {
				w.live[name][id] = cluster.Object{ID: id, Keys: map[string]string{w.key(name): w.content(name), "comment": poolMarker}}
			}
			if w.IntN(2) > 0 {
				d := kind.Desired{Kind: name, Name: id, ID: id, Keeps: w.IntN(4) == 0, Keys: []kind.Intent{{Key: w.key(name), Text: w.content(name)}}}
				for _, other := range []guest.Kind{kind.FirewallAliases, kind.FirewallSets} {
					d.Needs = append(d.Needs, kind.Need{Kind: other, ID: w.of(firewallIDs[other]...)})
				}
				w.objects.Wanted = append(w.objects.Wanted, d)
			}
			if w.IntN(2) > 0 {
				w.objects.Owned[journal.ObjectID{Kind: string(name), ID: id}] = journal.OwnedObject{Kind: string(name), ID: id, Name: id, Identity: "5e", Marker: poolMarker, Origin: journal.Created}
			}
		}
	}
	w.seen.Guests = make(map[int]guest.Observed)
	for vmid := 201; vmid < 203; vmid++ {
		ref := guest.Ref{Kind: guest.VirtualMachine, Name: fmt.Sprint("vm-", vmid), VMID: vmid}
		wanted := &guest.FirewallWanted{Guarded: true, Options: map[string]string{"enable": "1"}, Rules: w.rules("group-0", "group-1", "group-2")}
		w.objects.Guarded = append(w.objects.Guarded, kind.Guarded{Ref: ref, Guards: []guest.GuardField{guest.GuardFirewall}, Firewall: wanted})
		w.seen.Inventory.Rows = append(w.seen.Inventory.Rows, cluster.Row{VMID: vmid})
		if w.IntN(4) > 0 {
			w.seen.Guests[vmid] = guest.Observed{Ref: ref, Firewall: &guest.FirewallSeen{Rules: w.rules("group-0", "group-1", "group-2")}}
		}
	}
	return w
}

func (w *randomFirewallWorld) of(list ...string) string { return list[w.IntN(len(list))] }

func (w *randomFirewallWorld) key(name guest.Kind) string {
	return map[guest.Kind]string{kind.FirewallAliases: kind.KeyCIDR, kind.FirewallSets: kind.KeyEntries, kind.FirewallGroups: kind.KeyRules}[name]
}

func (w *randomFirewallWorld) content(name guest.Kind) string {
	switch name { //nolint:exhaustive // the kinds of the datacenter's firewall
	case kind.FirewallAliases:
		return w.of("10.0.0.0/8", "10.1.0.0/16")
	case kind.FirewallSets:
		var entries []guest.FirewallEntry
		for range w.IntN(3) {
			entry := guest.FirewallEntry{CIDR: w.of("10.0.0.0/8", "10.1.0.0/16", "dc/alias-0", "dc/alias-1")}
			if !slices.Contains(entries, entry) {
				entries = append(entries, entry)
			}
		}
		return kind.EntriesText(entries)
	default:
		return kind.RulesText(w.rules())
	}
}

// rules returns rules that name sets, aliases and some of the groups.
func (w *randomFirewallWorld) rules(groups ...string) []guest.FirewallRule {
	var rules []guest.FirewallRule
	for range w.IntN(3) {
		r := guest.FirewallRule{Type: "in", Action: w.of("ACCEPT", "DROP"), Source: w.of("+dc/set-0", "+set-1", "+dc/set-2", "dc/alias-0", "10.1.0.0/16"), Enabled: w.IntN(5) > 0}
		if len(groups) > 0 && w.IntN(2) > 0 {
			r = guest.FirewallRule{Type: "group", Action: w.of(groups...), Enabled: true}
		}
		rules = append(rules, r)
	}
	return rules
}

// refs returns the objects of manifests and records.
func (w *randomFirewallWorld) refs() []guest.Ref {
	var refs []guest.Ref
	for _, d := range w.objects.Wanted {
		refs = append(refs, d.Ref())
	}
	for id := range w.objects.Owned {
		if ref := (guest.Ref{Kind: guest.Kind(id.Kind), Name: id.ID}); !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// reading returns a reading of ids.
func (w *randomFirewallWorld) reading(name guest.Kind, ids []string) cluster.Objects {
	read := cluster.Objects{ByID: make(map[string]cluster.Object), Asked: ids, ReadAt: time.Unix(1, 0)}
	for _, id := range ids {
		if o, exists := w.live[name][id]; exists {
			read.ByID[id] = o
		}
	}
	return read
}

func isInUse(g plan.Guest) bool {
	return slices.ContainsFunc(g.Conditions, func(c plan.Condition) bool { return c.Reason == reason.InUse })
}

// TestReachOfGuardsDecides compares the plan of each object from a reading of what guarded firewalls reach with the plan from a reading of everything. Both find the
// same weakenings, which no other object decides.
func TestReachOfGuardsDecides(t *testing.T) {
	weakened, less := 0, 0
	for seed := range uint64(1000) {
		w := newRandomFirewallWorld(seed)
		all := make(map[guest.Kind]cluster.Objects)
		for name, ids := range w.objects.Reads() {
			all[name] = w.reading(name, ids)
		}
		reach := w.objects.ReachOfGuards(w.seen.Guests)
		groups := w.reading(kind.FirewallGroups, reach.Groups)
		sets := reach.Sets(groups)
		for _, ref := range w.refs() {
			one := w.objects.For(ref.Label())
			read := map[guest.Kind]cluster.Objects{kind.FirewallAliases: w.reading(kind.FirewallAliases, reach.Aliases)}
			read[kind.FirewallGroups], read[kind.FirewallSets] = groups, w.reading(kind.FirewallSets, sets)
			if ref.Kind != kind.FirewallAliases {
				read[ref.Kind] = w.reading(ref.Kind, append(one.IDs(ref.Kind), read[ref.Kind].Asked...))
			}
			planned := func(objects map[guest.Kind]cluster.Objects) plan.Guest {
				got := w.seen
				got.Objects = objects
				return plan.New(plan.Desired{Cluster: "home", Objects: one}, got).Guests[0]
			}
			whole, part := planned(all), planned(read)
			if isInUse(whole) { // a part may name another user, or none: the check before a removal reads all of them
				continue
			}
			if !reflect.DeepEqual(whole, part) {
				t.Fatalf("seed %d, %s: got the plan %+v from what guarded firewalls reach, want %+v", seed, ref.Label(), part, whole)
			}
			if len(part.Steps) > 0 && len(part.Steps[0].Loses) > 0 {
				weakened++
			}
			if len(sets) < len(all[kind.FirewallSets].Asked) {
				less++
			}
		}
	}
	t.Logf("%d weakenings, %d smaller readings", weakened, less)
	if weakened < 100 || less < 100 {
		t.Errorf("got %d weakenings and %d smaller readings, want many of both", weakened, less)
	}
}
