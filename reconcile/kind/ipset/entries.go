package ipset

import (
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kind/alias"
)

const (
	fieldKeepOthers = "keepOthers"
	fieldCIDR       = "cidr"
	fieldNoMatch    = "noMatch"
)

// maxEntries bounds the entries of a manifest. Each of them is a call.
const maxEntries = 1000

// entryFields are the fields of an entry. In a set of the cluster, the name of an alias needs no prefix.
func entryFields() []kind.Field {
	address := kind.SetEntry
	address.Accept = func(text string) bool { return guest.IsSetEntry(text) || guest.IsSetEntry("dc/"+text) }
	return []kind.Field{
		{Name: fieldCIDR, Required: "an address, a network, or an alias", Doc: "Address, network, or an alias of the cluster, such as dc/office.", Form: address},
		{Name: fieldNoMatch, Doc: "These addresses do not belong to the set, although a larger network of it has them.", Form: kind.Flag{}},
		{Name: keyComment, Doc: "Note.", Form: kind.FirewallComment},
	}
}

// lower puts the entries into the key of the set, with what they need.
func lower(spec kind.Spec, d *kind.Desired) []kind.Problem {
	d.Keeps = spec[fieldKeepOthers].Text == "1"
	v, managed := spec[keyEntries]
	if !managed {
		return nil
	}
	var problems []kind.Problem
	firsts := make(map[string]int)
	set := guest.FirewallSet{Entries: []guest.FirewallEntry{}}
	for i, item := range v.List {
		e := guest.FirewallEntry{CIDR: item.Fields[fieldCIDR].Text, NoMatch: item.Fields[fieldNoMatch].Text == "1", Comment: item.Fields[keyComment].Text}
		if first, twice := firsts[e.CIDR]; twice {
			problems = append(problems, kind.Problem{
				Field: fmt.Sprintf("%s[%d]", keyEntries, i), Origin: item.Origin,
				Message: fmt.Sprintf("got %s twice, the first time in %s[%d] (%s)", e.CIDR, keyEntries, first, v.List[first].Origin),
			})
			continue
		}
		firsts[e.CIDR] = i
		set.Entries = append(set.Entries, e)
	}
	d.Put(kind.Intent{Key: keyEntries, Text: kind.EntriesText(set.Entries), Origin: v.Origin})
	d.Needs = alias.NeededBy(&guest.FirewallWanted{Sets: []guest.FirewallSet{set}})
	return problems
}

// setOf returns the set with the entries of a text.
func setOf(id, text, digest string) guest.FirewallSet {
	return guest.FirewallSet{Name: id, Digest: digest, Entries: kind.EntriesOf(text)}
}

// observed returns the entries that Proxmox shows of a set, and their digest.
func observed(rows []kind.Row) (text, digest string) {
	entries := []guest.FirewallEntry{}
	for _, row := range rows {
		noMatch := row.Text("nomatch")
		entries = append(entries, guest.FirewallEntry{CIDR: strings.TrimSpace(row.Text(fieldCIDR)), NoMatch: noMatch != "" && noMatch != "0", Comment: row.Text(keyComment)})
		digest = row.Text("digest")
	}
	return kind.EntriesText(entries), digest
}

// wantedAndLive returns the set of a manifest and the live one.
func wantedAndLive(d kind.Desired, live cluster.Object) (want, got guest.FirewallSet) {
	text, _ := d.Text(keyEntries)
	return setOf(d.ID, text, ""), setOf(live.ID, live.Keys[keyEntries], live.Digest)
}

// changes returns how the entries of a live set differ from the wanted ones.
func changes(d kind.Desired, live cluster.Object) []guest.Change {
	want, got := wantedAndLive(d, live)
	list := firewall.EntryChanges(want, got, d.Keeps)
	for i := range list {
		list[i].Write, list[i].Origin = guest.WriteSet, d.Origin
		if list[i].To == "" {
			list[i].Write = guest.WriteDelete
		}
	}
	return list
}

// next returns the next call about an entry. Between two calls, each address belongs to the set as before or as wanted.
func next(d kind.Desired, live cluster.Object) (kind.ItemCall, bool) {
	want, got := wantedAndLive(d, live)
	call, more := firewall.NextEntry(want, got, d.Keeps)
	call.Op, call.Kind, call.Object = cluster.OpObjectSet, Name, d.ID
	return kind.ItemCall{Call: call, After: kind.EntriesText(firewall.EntriesAfter(got.Entries, call))}, more
}

// final returns the entries after all calls.
func final(d kind.Desired, live cluster.Object) string {
	want, got := wantedAndLive(d, live)
	for _, e := range got.Entries {
		named := func(w guest.FirewallEntry) bool { return w.CIDR == e.CIDR }
		if d.Keeps && !slices.ContainsFunc(want.Entries, named) {
			want.Entries = append(want.Entries, e)
		}
	}
	return kind.EntriesText(want.Entries)
}

// whyUnsafe returns why no order of calls is safe. A firewall of a guest drops new connections meanwhile; nothing can do that for all rules of the cluster.
func whyUnsafe(d kind.Desired, live cluster.Object) string {
	if want, got := wantedAndLive(d, live); !firewall.HasSafeOrder(want, got, d.Keeps) {
		return fmt.Sprintf("the set %s has aliases and noMatch entries, so which entry decides about an address is not known while it gets addresses and loses others", d.ID)
	}
	return ""
}

// raise returns the fields of the manifest that describes a live set.
func raise(o cluster.Object) (fields []kind.Raised, left []string) {
	entries := [][]kind.Raised{}
	for _, e := range setOf(o.ID, o.Keys[keyEntries], "").Entries {
		entry := []kind.Raised{{Name: fieldCIDR, Value: e.CIDR}}
		if e.NoMatch {
			entry = append(entry, kind.Raised{Name: fieldNoMatch, Value: true})
		}
		if e.Comment != "" {
			entry = append(entry, kind.Raised{Name: keyComment, Value: e.Comment})
		}
		entries = append(entries, entry)
	}
	return []kind.Raised{{Name: keyEntries, Value: entries}}, nil
}
