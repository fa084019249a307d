package firewall

import (
	"fmt"
	"maps"
	"slices"

	"gitops-agent/reconcile/guest"
)

// Changes returns the differences between the observed firewall and the wanted one, for people. It is empty exactly if Next finds no call.
func Changes(want *guest.FirewallWanted, seen *guest.FirewallSeen) []guest.Change {
	if isAsWanted(want, seen) {
		return nil
	}
	d := differences{sequence: newSequence(want, seen)}
	d.options()
	d.aliases()
	d.sets()
	d.rules()
	if len(d.list) == 0 {
		if _, more := d.unblock(); more {
			d.add("rules", BlockComment, "", "a change of addresses has ended", want.Origin)
		}
	}
	return d.list
}

type differences struct {
	*sequence
	list []guest.Change
}

func (d *differences) add(field, from, to, note string, origin guest.Origin) {
	d.list = append(d.list, guest.Change{
		Key: "firewall." + field, From: from, To: to, Class: guest.Live, Write: guest.WriteFirewall, Note: note, Origin: origin,
	})
}

func (d *differences) options() {
	for _, key := range slices.Sorted(maps.Keys(d.want.Options)) {
		if from, to := d.seen.Options[key], d.want.Options[key]; from != to {
			d.add(key, from, to, "", d.want.Origin)
		}
	}
}

func (d *differences) aliases() {
	for _, a := range d.want.Aliases {
		if live, _ := findAlias(d.seen.Aliases, a.Name); live.CIDR != a.CIDR || live.Comment != a.Comment {
			d.add("aliases."+a.Name, live.String(), a.String(), "", d.want.Origin)
		}
	}
	for _, live := range d.seen.Aliases {
		if _, wanted := findAlias(d.want.Aliases, live.Name); !wanted && d.want.Aliases != nil && !d.want.KeepOthers {
			d.add("aliases."+live.Name, live.String(), "", notInManifest, d.want.Origin)
		}
	}
}

const notInManifest = "it is not in the manifest"

func (d *differences) sets() {
	for _, set := range d.want.Sets {
		live, exists := findSet(d.seen.Sets, set.Name)
		if _, differs := NextEntry(set, live, false); !exists || differs || set.Comment != "" && set.Comment != live.Comment {
			d.add("ipSets."+set.Name, live.String(), set.String(), "", d.want.Origin)
		}
	}
	for _, live := range d.seen.Sets {
		if _, wanted := findSet(d.want.Sets, live.Name); !wanted && d.want.Sets != nil && !d.want.KeepOthers {
			d.add("ipSets."+live.Name, live.String(), "", notInManifest, d.want.Origin)
		}
	}
}

// rules shows each wanted rule that is missing, out of place or described otherwise, and each rule that is too many. The copies that have no effect yet are
// not shown.
func (d *differences) rules() {
	var others []guest.FirewallRule
	for j, r := range d.seen.Rules {
		if d.isOther(j, r) {
			others = append(others, r)
		}
	}
	for i, r := range d.want.Rules {
		origin, field := d.want.Origin, fmt.Sprintf("rules[%d]", i)
		if i < len(d.want.RuleOrigins) {
			origin = d.want.RuleOrigins[i]
		}
		if at := d.places.at[i]; at >= 0 {
			if live := d.seen.Rules[at]; live != r {
				d.add(field, live.String(), r.String(), "", origin)
			}
			continue
		}
		if j := slices.IndexFunc(others, func(o guest.FirewallRule) bool { return o.Effect() == r.Effect() }); j >= 0 {
			d.add(field, others[j].String(), r.String(), "it is at another position", origin)
			others = slices.Delete(others, j, j+1)
			continue
		}
		d.add(field, "", r.String(), "", origin)
	}
	for _, r := range others {
		d.add("rules", r.String(), "", notInManifest, d.want.Origin)
	}
}
