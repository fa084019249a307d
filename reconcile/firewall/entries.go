package firewall

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// entryChange is the difference of one entry between a live set and a wanted one.
type entryChange struct {
	verb      cluster.FirewallVerb
	from, to  guest.FirewallEntry
	belonging // what the change does to the addresses of the entry
}

// belonging says whether addresses come to a set or leave it.
type belonging int

const (
	stays  belonging = iota // only the comment changes
	comes                   // the set may get addresses
	leaves                  // the set may lose addresses
)

// entryChanges returns the differences of the entries in the order of the calls. With keepOthers, entries that are not wanted stay.
//
// The most specific entry decides whether an address belongs to a set. So entries are added and changed beginning with the most specific one, and removed
// beginning with the least specific one: after each call, every address belongs to the set if it did before the first one, or if it does after the last one. What
// an alias contains is not known here. See HasSafeOrder.
func entryChanges(want, live guest.FirewallSet, keepOthers bool) []entryChange {
	var changes []entryChange
	for _, e := range want.Entries {
		switch found, exists := findEntry(live, e.CIDR); {
		case !exists:
			changes = append(changes, entryChange{cluster.FirewallAdd, guest.FirewallEntry{}, e, belongingOf(!e.NoMatch)})
		case found.NoMatch != e.NoMatch:
			changes = append(changes, entryChange{cluster.FirewallSet, found, e, belongingOf(!e.NoMatch)})
		case found != e:
			changes = append(changes, entryChange{cluster.FirewallSet, found, e, stays})
		}
	}
	for _, e := range live.Entries {
		if _, wanted := findEntry(want, e.CIDR); !wanted && !keepOthers {
			changes = append(changes, entryChange{cluster.FirewallDelete, e, guest.FirewallEntry{}, belongingOf(e.NoMatch)})
		}
	}
	byAddress := !hasAliasAndNoMatch(want, live)
	slices.SortStableFunc(changes, func(a, b entryChange) int { return cmp.Compare(a.rank(byAddress), b.rank(byAddress)) })
	return changes
}

func belongingOf(more bool) belonging {
	if more {
		return comes
	}
	return leaves
}

// rank returns the place of a change among the others. ByAddress orders them by their addresses; without it, addresses leave before others come.
func (c entryChange) rank(byAddress bool) int {
	switch {
	case c.belonging == stays:
		return 10_000
	case !byAddress && c.belonging == leaves:
		return 0
	case !byAddress:
		return 1
	case c.verb == cluster.FirewallDelete:
		return 1_000 + prefixBits(c.from.CIDR)
	}
	return -prefixBits(c.to.CIDR)
}

// prefixBits returns how specific an address is among those of its family. An alias has 0.
func prefixBits(cidr string) int {
	if isAliasName(cidr) {
		return 0
	}
	_, bits, isNetwork := strings.Cut(cidr, "/")
	if n, err := strconv.Atoi(bits); isNetwork && err == nil {
		return n
	}
	return 128
}

// isAliasName reports whether an entry of a set names an alias.
func isAliasName(cidr string) bool { return !guest.IsNetwork(cidr) }

// hasAliasAndNoMatch reports whether sets have aliases and excluded addresses: which entry decides about an address is then not known.
func hasAliasAndNoMatch(sets ...guest.FirewallSet) bool {
	var alias, noMatch bool
	for _, set := range sets {
		for _, e := range set.Entries {
			alias, noMatch = alias || isAliasName(e.CIDR), noMatch || e.NoMatch
		}
	}
	return alias && noMatch
}

// HasSafeOrder reports whether NextEntry changes a live set to a wanted one such that after each call, every address belongs to the set if it did before the first
// call, or if it does after the last one. It does not if a set has aliases and excluded addresses, and gets addresses and loses others.
func HasSafeOrder(want, live guest.FirewallSet, keepOthers bool) bool {
	if !hasAliasAndNoMatch(want, live) {
		return true
	}
	after := want
	if keepOthers {
		after.Entries = slices.Concat(want.Entries, live.Entries)
	}
	effective := slices.DeleteFunc(entryChanges(want, live, keepOthers), func(c entryChange) bool { return c.belonging == stays })
	all := func(b belonging) bool {
		return !slices.ContainsFunc(effective, func(c entryChange) bool { return c.belonging != b })
	}
	return len(effective) <= 1 || all(comes) || all(leaves) || !hasMembers(live) || !hasMembers(after)
}

// hasMembers reports whether a set may contain an address.
func hasMembers(set guest.FirewallSet) bool {
	return slices.ContainsFunc(set.Entries, func(e guest.FirewallEntry) bool { return !e.NoMatch })
}

// NextEntry returns the next call from the entries of a live set to those of a wanted one, and false if they do not differ. With keepOthers, entries that are not
// wanted stay.
func NextEntry(want, live guest.FirewallSet, keepOthers bool) (cluster.Call, bool) {
	changes := entryChanges(want, live, keepOthers)
	if len(changes) == 0 {
		return cluster.Call{}, false
	}
	next := changes[0]
	entry, digest := next.to, live.Digest
	switch next.verb {
	case cluster.FirewallAdd:
		digest = "" // Proxmox does not take one
	case cluster.FirewallDelete:
		entry = next.from
	case cluster.FirewallSet, cluster.FirewallMove:
	}
	return entryCall(next.verb, cmp.Or(want.Name, live.Name), entry, digest), true
}

func findEntry(set guest.FirewallSet, cidr string) (guest.FirewallEntry, bool) {
	i := slices.IndexFunc(set.Entries, func(e guest.FirewallEntry) bool { return e.CIDR == cidr })
	if i < 0 {
		return guest.FirewallEntry{}, false
	}
	return set.Entries[i], true
}

// EntryChanges returns the differences between the entries of a live set and those of a wanted one, for people. It is empty exactly if NextEntry finds no call.
func EntryChanges(want, live guest.FirewallSet, keepOthers bool) []guest.Change {
	var list []guest.Change
	for _, c := range entryChanges(want, live, keepOthers) {
		change := guest.Change{Key: "entries." + cmp.Or(c.to.CIDR, c.from.CIDR), From: c.from.String(), To: c.to.String(), Class: guest.Live, Write: guest.WriteFirewall}
		if c.verb == cluster.FirewallDelete {
			change.Note = notInManifest
		}
		list = append(list, change)
	}
	slices.SortStableFunc(list, func(a, b guest.Change) int { return cmp.Compare(a.Key, b.Key) })
	return list
}
