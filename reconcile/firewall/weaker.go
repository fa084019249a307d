package firewall

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// Weaker returns in what a guarded firewall may admit a packet that another one denies, for people, and the network cards that admit it. Both are empty if next
// certainly admits no more than now. Both firewalls are among the same objects of the cluster.
func Weaker(now, next guest.FirewallGuard) (why, cards []string) {
	if next.Firewall == nil || !next.Firewall.Guarded {
		return []string{"the firewall is not guarded any more"}, nil
	}
	if next.Firewall.KeepOthers {
		return []string{"rules stay that the manifest does not mention"}, nil
	}
	why = weakerOptions(now.Firewall.Options, next.Firewall.Options)
	for _, o := range weakerCards(now, next) {
		why, cards = append(why, o.card+" "+o.why), append(cards, o.card)
	}
	for _, device := range next.Devices {
		if now.Devices != nil && !slices.Contains(now.Devices, device) {
			why = append(why, "the device "+device+" of the host may be a network card, to which no firewall applies")
		}
	}
	return append(why, weakerNames(scope{own: now.Firewall}, scope{own: next.Firewall})...), cards
}

// WeakerAmong returns in what a guarded firewall may admit more packets when objects of the cluster change that its rules name.
func WeakerAmong(f *guest.FirewallWanted, before, after Names) []string {
	return weakerNames(scope{f, before}, scope{f, after})
}

// weakerNames compares what depends on rules and names.
func weakerNames(now, next scope) []string {
	var found []string
	for _, d := range directions {
		found = append(found, weakerRules(now.decisions(d.name, policyOf(now, d.policy, d.byDefault)), next.decisions(d.name, policyOf(next, d.policy, d.byDefault)))...)
	}
	return append(found, weakerFilters(now, next)...)
}

func policyOf(s scope, option, byDefault string) string {
	if policy := s.own.Options[option]; policy != "" {
		return policy
	}
	return byDefault
}

// weakerRules returns the decisions of next that may accept packets which now denies. A packet that the j-th decision of next accepts was accepted before
// if a decision of now accepts it, and if everything that now denies in front of that one is denied by next in front of the j-th.
func weakerRules(now, next []*decision) []string {
	var denied []int // of each decision of now that denies: the first one of next that denies the same packets
	for _, d := range now {
		at := len(next)
		if !d.denies() {
			at = -1
		} else if i := slices.IndexFunc(next, func(n *decision) bool { return n.denies() && n.covers(d) }); i >= 0 {
			at = i
		}
		denied = append(denied, at)
	}
	var found []string
	for j, n := range next {
		if !n.accepts() {
			continue
		}
		still := slices.IndexFunc(denied, func(at int) bool { return at >= j }) // the first decision of now that next does not repeat in front of n
		if still < 0 {
			still = len(now) - 1
		}
		accepted := slices.IndexFunc(now, func(d *decision) bool { return d.accepts() && d.covers(n) })
		switch {
		case accepted < 0:
			found = append(found, fmt.Sprintf("%q admits what no rule admitted before", n.text))
		case accepted > still:
			found = append(found, fmt.Sprintf("%q is not behind %q any more", n.text, now[still].text))
		}
	}
	return found
}

// optional are the options about packets before the rules, with the value that admits least. What is not set depends on Proxmox's release.
var optional = map[string]string{"dhcp": "0", "ndp": "0", "radv": "0", "ipfilter": "1", "macfilter": "1"}

func weakerOptions(now, next map[string]string) []string {
	var found []string
	if !isOn(next["enable"]) {
		found = append(found, "enable is off")
	}
	for _, key := range slices.Sorted(maps.Keys(optional)) {
		if from, to := now[key], next[key]; from != to && to != optional[key] {
			found = append(found, fmt.Sprintf("%s: %s -> %s", key, orDefault(from), orDefault(to)))
		}
	}
	return found
}

func orDefault(value string) string {
	if value == "" {
		return "the default"
	}
	return value
}

// openCard is a network card that admits more packets.
type openCard struct{ card, why string }

// weakerCards compares the network cards. A card that is new has the firewall too; a rule that denies packets of one card does not deny those of another one.
func weakerCards(now, next guest.FirewallGuard) []openCard {
	var found []openCard
	for _, card := range now.Cards {
		if !slices.Contains(next.Cards, card) && !slices.Contains(next.Removed, card) {
			found = append(found, openCard{card, "has no firewall: true any more"})
		}
	}
	isKnown := func(card string) bool {
		return slices.Contains(now.Cards, card) || slices.Contains(now.OtherCards, card)
	}
	for _, card := range next.OtherCards {
		if !isKnown(card) {
			found = append(found, openCard{card, "is there without firewall: true"})
		}
	}
	namesCard := slices.ContainsFunc(next.Firewall.Rules, func(r guest.FirewallRule) bool { return r.Enabled && r.Interface != "" && r.Action != accept })
	for _, card := range next.Cards {
		if namesCard && !isKnown(card) {
			found = append(found, openCard{card, "is there, and a rule that denies names another card"})
		}
	}
	return found
}

// filterPrefix begins the names of the sets that filter what a guest sends, by their existence or by the option ipfilter.
const filterPrefix = "ipfilter-"

// weakerFilters compares the sets that name the addresses of the guest. What applies without a set is not certain, so only fewer addresses in an existing
// set are no weakening.
func weakerFilters(now, next scope) []string {
	var found []string
	for _, set := range next.own.Sets {
		before, existed := now.set(set.Name)
		if strings.HasPrefix(set.Name, filterPrefix) && (!existed || !before.contains(next.ofSet(set))) {
			found = append(found, fmt.Sprintf("the set %s has more addresses", set.Name))
		}
	}
	for _, set := range now.own.Sets {
		if _, stays := findSet(next.own.Sets, set.Name); strings.HasPrefix(set.Name, filterPrefix) && !stays {
			found = append(found, fmt.Sprintf("the set %s is gone", set.Name))
		}
	}
	return found
}
