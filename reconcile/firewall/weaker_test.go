package firewall_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
)

// parseRules reads rules such as "in ACCEPT 10.0.0.0/8 :22 net0 # comment". A leading minus sign switches a rule off.
func parseRules(text string) []guest.FirewallRule {
	var rules []guest.FirewallRule
	for line := range strings.SplitSeq(text, ";") {
		line, off := strings.CutPrefix(strings.TrimSpace(line), "-")
		line, comment, _ := strings.Cut(line, " # ")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		r := guest.FirewallRule{Type: words[0], Action: words[1], Comment: comment, Enabled: !off}
		for _, w := range words[2:] {
			switch {
			case strings.HasPrefix(w, ":"):
				r.Protocol, r.DestPort = "tcp", w[1:]
			case strings.HasPrefix(w, "net"):
				r.Interface = w
			case strings.HasPrefix(w, "macro="):
				r.Macro = w[len("macro="):]
			case strings.HasPrefix(w, "to="):
				r.Dest = w[len("to="):]
			default:
				r.Source = w
			}
		}
		rules = append(rules, r)
	}
	return rules
}

// guarded returns a guarded firewall with rules; options is "policy_in=ACCEPT dhcp=1".
func guarded(rules, options string) guest.FirewallGuard {
	f := &guest.FirewallWanted{Guarded: true, Options: map[string]string{"enable": "1"}, Rules: parseRules(rules), Aliases: []guest.FirewallAlias{{Name: "office", CIDR: "10.1.0.0/16"}}}
	for o := range strings.FieldsSeq(options) {
		key, value, _ := strings.Cut(o, "=")
		f.Options[key] = value
	}
	f.Sets = []guest.FirewallSet{{Name: "admins", Entries: []guest.FirewallEntry{{CIDR: "10.0.0.0/24"}, {CIDR: "10.0.0.1", NoMatch: true}}}}
	return guest.FirewallGuard{Firewall: f, Cards: []string{"net0"}, Devices: []string{"hostpci gpu"}}
}

func TestWeaker(t *testing.T) {
	const base = "in ACCEPT 10.0.0.0/8 :22,80:90; in DROP 10.9.0.0/16; in ACCEPT :443; out DROP to=10.0.0.0/8"
	type test struct {
		now, next               string // rules; "" is base
		nowOptions, nextOptions string
		edit                    func(g *guest.FirewallGuard)
		weaker                  bool
	}
	entries := func(list ...guest.FirewallEntry) func(g *guest.FirewallGuard) {
		return func(g *guest.FirewallGuard) { g.Firewall.Sets[0].Entries = list }
	}
	tests := map[string]test{
		"same":                   {},
		"comment":                {next: base + "; -in ACCEPT # off"},
		"accept_removed":         {next: "in DROP 10.9.0.0/16; in ACCEPT :443; out DROP to=10.0.0.0/8"},
		"accept_narrower":        {next: "in ACCEPT 10.2.0.0/16 :85; in DROP 10.9.0.0/16; in ACCEPT :443; out DROP to=10.0.0.0/8"},
		"accept_one_card":        {next: "in ACCEPT 10.0.0.0/8 :22,80:90 net0; in DROP 10.9.0.0/16; in ACCEPT :443; out DROP to=10.0.0.0/8"},
		"accept_now_drops":       {next: "in DROP 10.0.0.0/8 :22,80:90; in DROP 10.9.0.0/16; in ACCEPT :443; out DROP to=10.0.0.0/8"},
		"accept_added":           {next: base + "; in ACCEPT :25", weaker: true},
		"accept_added_redundant": {next: base + "; in ACCEPT 192.168.0.0/16 :443"},
		"accept_enabled":         {now: "-in ACCEPT :22", next: "in ACCEPT :22", weaker: true},
		"accept_off":             {now: "in ACCEPT :22", next: "-in ACCEPT :22"},
		"accept_wider_address":   {now: "in ACCEPT 10.0.0.0/24", next: "in ACCEPT 10.0.0.0/23", weaker: true},
		"accept_wider_port":      {now: "in ACCEPT :22", next: "in ACCEPT :22:23", weaker: true},
		"accept_port_eight":      {now: "in ACCEPT :10", next: "in ACCEPT :010", weaker: true},
		"accept_range_of_eight":  {now: "in ACCEPT :8:20", next: "in ACCEPT :10:020", weaker: true},
		"accept_other_port_name": {now: "in ACCEPT :ssh", next: "in ACCEPT :smtp", weaker: true},
		"accept_other_family":    {now: "in ACCEPT 0.0.0.0/0", next: "in ACCEPT ::/0", weaker: true},
		"accept_all_protocols":   {now: "in ACCEPT :22", next: "in ACCEPT", weaker: true},
		"accept_dest_gone":       {now: "in ACCEPT to=10.0.0.1", next: "in ACCEPT", weaker: true},
		"accept_range":           {now: "in ACCEPT 10.0.0.0/24", next: "in ACCEPT 10.0.0.3-10.0.0.9"},
		"accept_range_wider":     {now: "in ACCEPT 10.0.0.3-10.0.0.9", next: "in ACCEPT 10.0.0.3-10.0.0.10", weaker: true},
		"accept_macro":           {now: "in ACCEPT macro=ssh", next: "in ACCEPT 10.0.0.0/8 macro=ssh"},
		"accept_other_macro":     {now: "in ACCEPT macro=ssh", next: "in ACCEPT macro=web", weaker: true},
		"accept_in_front":        {next: "in ACCEPT :443; in ACCEPT 10.0.0.0/8 :22,80:90; in DROP 10.9.0.0/16; out DROP to=10.0.0.0/8", weaker: true},
		"accepts_swapped":        {now: "in ACCEPT :22; in ACCEPT :80", next: "in ACCEPT :80; in ACCEPT :22"},
		"drop_added":             {next: "in DROP 172.16.0.0/12; " + base},
		"drop_earlier":           {next: "in DROP 10.9.0.0/16; in ACCEPT 10.0.0.0/8 :22,80:90; in ACCEPT :443; out DROP to=10.0.0.0/8"},
		"drop_rejects":           {next: "in ACCEPT 10.0.0.0/8 :22,80:90; in REJECT 10.9.0.0/16; in ACCEPT :443; out REJECT to=10.0.0.0/8"},
		"drop_wider":             {next: "in ACCEPT 10.0.0.0/8 :22,80:90; in DROP 10.8.0.0/15; in ACCEPT :443; out DROP"},
		"drop_narrower":          {next: "in ACCEPT 10.0.0.0/8 :22,80:90; in DROP 10.9.0.0/17; in ACCEPT :443; out DROP to=10.0.0.0/8", weaker: true},
		"drop_one_card":          {next: "in ACCEPT 10.0.0.0/8 :22,80:90; in DROP 10.9.0.0/16 net0; in ACCEPT :443; out DROP to=10.0.0.0/8", weaker: true},
		"drop_off":               {next: "in ACCEPT 10.0.0.0/8 :22,80:90; -in DROP 10.9.0.0/16; in ACCEPT :443; out DROP to=10.0.0.0/8", weaker: true},
		"drop_removed":           {next: "in ACCEPT 10.0.0.0/8 :22,80:90; in ACCEPT :443; out DROP to=10.0.0.0/8", weaker: true},
		"drop_out_removed":       {next: "in ACCEPT 10.0.0.0/8 :22,80:90; in DROP 10.9.0.0/16; in ACCEPT :443", weaker: true},
		"drop_last_removed":      {now: "in ACCEPT :22; in DROP 10.9.0.0/16", next: "in ACCEPT :22"}, // the policy drops what it dropped
		"drop_now_accepts":       {now: "in DROP :22", next: "in ACCEPT :22", weaker: true},
		"policy_in":              {nextOptions: "policy_in=ACCEPT", weaker: true},
		"policy_in_unset":        {nowOptions: "policy_in=REJECT"},
		"policy_out_tighter":     {nextOptions: "policy_out=DROP"},
		"policy_out_unset":       {nowOptions: "policy_out=DROP", weaker: true},
		"policy_for_rules":       {now: "in ACCEPT", nextOptions: "policy_in=ACCEPT", next: "in ACCEPT :22"},
		"policy_of_no_account":   {now: "in ACCEPT", next: "in ACCEPT", nextOptions: "policy_in=ACCEPT"},
		"enable":                 {nextOptions: "enable=0", weaker: true},
		"dhcp":                   {nextOptions: "dhcp=1", weaker: true},
		"dhcp_off":               {nowOptions: "dhcp=1", nextOptions: "dhcp=0"},
		"macfilter_off":          {nextOptions: "macfilter=0", weaker: true},
		"macfilter_unset":        {nowOptions: "macfilter=1", weaker: true},
		"ipfilter_on":            {nextOptions: "ipfilter=1"},
		"log":                    {nextOptions: "log_level_in=info"},
		"not_guarded":            {edit: func(g *guest.FirewallGuard) { g.Firewall.Guarded = false }, weaker: true},
		"gone":                   {edit: func(g *guest.FirewallGuard) { g.Firewall = nil }, weaker: true},
		"keep_others":            {edit: func(g *guest.FirewallGuard) { g.Firewall.KeepOthers = true }, weaker: true},

		"card_without":       {edit: func(g *guest.FirewallGuard) { g.Cards, g.OtherCards = nil, g.Cards }, weaker: true},
		"card_not_mentioned": {edit: func(g *guest.FirewallGuard) { g.Cards = nil }, weaker: true},
		"card_removed":       {edit: func(g *guest.FirewallGuard) { g.Cards, g.Removed = nil, g.Cards }},
		"card_added":         {edit: func(g *guest.FirewallGuard) { g.Cards = []string{"net0", "net1"} }},
		"card_added_without": {edit: func(g *guest.FirewallGuard) { g.OtherCards = []string{"net1"} }, weaker: true},
		"card_added_drop_names_one": {
			now: "in DROP net0; in ACCEPT", next: "in DROP net0; in ACCEPT", edit: func(g *guest.FirewallGuard) { g.Cards = []string{"net0", "net1"} }, weaker: true,
		},

		"set_smaller":            {now: "in ACCEPT +admins", next: "in ACCEPT +admins", edit: entries(guest.FirewallEntry{CIDR: "10.0.0.0/25"}, guest.FirewallEntry{CIDR: "10.0.0.1", NoMatch: true})},
		"set_larger":             {now: "in ACCEPT +admins", next: "in ACCEPT +admins", edit: entries(guest.FirewallEntry{CIDR: "10.0.0.0/23"}, guest.FirewallEntry{CIDR: "10.0.0.1", NoMatch: true}), weaker: true},
		"set_exclusion_gone":     {now: "in ACCEPT +admins", next: "in ACCEPT +admins", edit: entries(guest.FirewallEntry{CIDR: "10.0.0.0/24"}), weaker: true},
		"drop_set_smaller":       {now: "in DROP +admins; in ACCEPT", next: "in DROP +admins; in ACCEPT", edit: entries(guest.FirewallEntry{CIDR: "10.0.0.0/25"}), weaker: true},
		"drop_set_all":           {now: "in DROP +admins; in ACCEPT", next: "in DROP +admins; in ACCEPT", edit: entries(guest.FirewallEntry{CIDR: "10.0.0.0/23"})},
		"drop_set_excludes":      {now: "in DROP +admins; in ACCEPT", next: "in DROP +admins; in ACCEPT", edit: entries(guest.FirewallEntry{CIDR: "10.0.0.0/24"}, guest.FirewallEntry{CIDR: "10.0.0.1", NoMatch: true}, guest.FirewallEntry{CIDR: "10.0.0.2", NoMatch: true}), weaker: true},
		"drop_set_excludes_name": {now: "in DROP +admins; in ACCEPT", next: "in DROP +admins; in ACCEPT", edit: entries(guest.FirewallEntry{CIDR: "10.0.0.0/24"}, guest.FirewallEntry{CIDR: "10.0.0.1", NoMatch: true}, guest.FirewallEntry{CIDR: "dc/x", NoMatch: true}), weaker: true},
		"set_unused":             {edit: entries(guest.FirewallEntry{CIDR: "10.0.0.0/8"})},
		"set_gone":               {now: "in DROP +admins; in ACCEPT", next: "in DROP +admins; in ACCEPT", edit: func(g *guest.FirewallGuard) { g.Firewall.Sets = nil }, weaker: true},
		"set_hides_that_of_the_cluster": {now: "in ACCEPT +web", next: "in ACCEPT +web", edit: func(g *guest.FirewallGuard) {
			g.Firewall.Sets = append(g.Firewall.Sets, guest.FirewallSet{Name: "web", Entries: []guest.FirewallEntry{{CIDR: "10.0.0.1"}}})
		}, weaker: true},
		"alias_smaller":         {now: "in ACCEPT office", next: "in ACCEPT office", edit: func(g *guest.FirewallGuard) { g.Firewall.Aliases[0].CIDR = "10.1.2.0/24" }},
		"alias_larger":          {now: "in ACCEPT guest/office", next: "in ACCEPT guest/office", edit: func(g *guest.FirewallGuard) { g.Firewall.Aliases[0].CIDR = "10.0.0.0/8" }, weaker: true},
		"alias_perhaps_of_both": {now: "in ACCEPT dc/office", next: "in ACCEPT dc/office", edit: func(g *guest.FirewallGuard) { g.Firewall.Aliases[0].CIDR = "10.0.0.0/8" }, weaker: true},
		"alias_to_address":      {now: "in ACCEPT office", next: "in ACCEPT 10.1.7.7"},
		"cluster_alias":         {now: "in ACCEPT dc/vpn", next: "in ACCEPT dc/vpn :22"},
		"cluster_alias_other":   {now: "in ACCEPT dc/vpn", next: "in ACCEPT dc/lan", weaker: true},
		"group":                 {now: "group web; in DROP; group ssh", next: "in DROP 10.0.0.1; group web; in DROP", nowOptions: "policy_out=DROP", nextOptions: "policy_out=DROP"},
		"group_added":           {now: "group web", next: "group web; group ssh", weaker: true},
		"group_swapped":         {now: "group web; group ssh", next: "group ssh; group web", weaker: true},
		"group_card_gone":       {now: "group web net0", next: "group web", weaker: true},
		"device_added":          {edit: func(g *guest.FirewallGuard) { g.Devices = []string{"hostpci gpu", "hostpci nic"} }, weaker: true},
		"device_replaced":       {edit: func(g *guest.FirewallGuard) { g.Devices = []string{"hostpci nic"} }, weaker: true},
		"device_removed":        {edit: func(g *guest.FirewallGuard) { g.Devices = []string{} }},
		"filter_added": {edit: func(g *guest.FirewallGuard) {
			g.Firewall.Sets = append(g.Firewall.Sets, guest.FirewallSet{Name: "ipfilter-net0", Entries: []guest.FirewallEntry{{CIDR: "10.0.0.1"}}})
		}, weaker: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.now == "" {
				test.now = base
			}
			if test.next == "" {
				test.next = test.now
			}
			now, next := guarded(test.now, test.nowOptions), guarded(test.next, test.nextOptions)
			if test.edit != nil {
				test.edit(&next)
			}
			if got, _ := firewall.Weaker(now, next); (len(got) > 0) != test.weaker {
				t.Errorf("got %q, want weaker: %t", got, test.weaker)
			}
		})
	}
}

// TestWeakerAmong changes objects of the cluster that a guarded firewall names.
func TestWeakerAmong(t *testing.T) {
	alias := func(cidr string) firewall.Names {
		return firewall.Names{Aliases: map[string]*guest.FirewallAlias{"vpn": {Name: "vpn", CIDR: cidr}}}
	}
	set := func(cidrs ...string) firewall.Names {
		s := &guest.FirewallSet{Name: "lan"}
		for _, c := range cidrs {
			s.Entries = append(s.Entries, guest.FirewallEntry{CIDR: c})
		}
		return firewall.Names{Sets: map[string]*guest.FirewallSet{"lan": s}}
	}
	group := func(rules string) firewall.Names {
		return firewall.Names{Groups: map[string][]guest.FirewallRule{"web": parseRules(rules)}}
	}
	none := firewall.Names{Aliases: map[string]*guest.FirewallAlias{"vpn": nil}}
	tests := map[string]struct {
		rules         string
		before, after firewall.Names
		weaker        bool
	}{
		"smaller":                 {"in ACCEPT dc/vpn", alias("10.0.0.0/8"), alias("10.0.0.0/9"), false},
		"larger":                  {"in ACCEPT vpn", alias("10.0.0.0/9"), alias("10.0.0.0/8"), true},
		"drops_smaller":           {"in DROP dc/vpn; in ACCEPT", alias("10.0.0.0/8"), alias("10.0.0.0/9"), true},
		"drops_larger":            {"in DROP dc/VPN; in ACCEPT", alias("10.0.0.0/9"), alias("10.0.0.0/8"), false},
		"removed":                 {"in DROP dc/vpn; in ACCEPT", alias("10.0.0.0/9"), none, true},
		"added":                   {"in ACCEPT dc/vpn", none, alias("10.0.0.0/9"), true},
		"not_named":               {"in ACCEPT", alias("10.0.0.0/9"), alias("0.0.0.0/0"), false},
		"rule_off":                {"-in ACCEPT dc/vpn", alias("10.0.0.0/9"), alias("0.0.0.0/0"), false},
		"own_name":                {"in ACCEPT office", firewall.Names{}, firewall.Names{Aliases: map[string]*guest.FirewallAlias{"office": {CIDR: "::/0"}}}, false},
		"set_larger":              {"in ACCEPT +dc/lan", set("10.0.0.1"), set("10.0.0.1", "10.0.0.2"), true},
		"set_smaller":             {"in ACCEPT +lan", set("10.0.0.1", "10.0.0.2"), set("10.0.0.2"), false},
		"group_accepts_more":      {"group web", group("in ACCEPT :80"), group("in ACCEPT :80; in ACCEPT :443"), true},
		"group_drops_more":        {"group web; in ACCEPT", group("in ACCEPT :80"), group("in DROP 10.0.0.1; in ACCEPT :80"), false},
		"group_names_the_cluster": {"group web", group("in ACCEPT 10.1.0.1"), group("in ACCEPT office"), true},
		"group_of_a_card":         {"group web net0; in DROP; group web", group("in ACCEPT :80"), group("in ACCEPT :80; in ACCEPT :443"), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := firewall.WeakerAmong(guarded(test.rules, "").Firewall, test.before, test.after); (len(got) > 0) != test.weaker {
				t.Errorf("got %q, want weaker: %t", got, test.weaker)
			}
		})
	}
}

// TestNotWeakerAdmitsNothingMore changes random guarded firewalls. What counts as not weaker admits no packet that was denied.
func TestNotWeakerAdmitsNothingMore(t *testing.T) {
	packets, kept := allPackets(), 0
	rapid.Check(t, func(t *rapid.T) {
		now := drawGuarded(t)
		for range 30 {
			next := changedGuard(t, now)
			if why, _ := firewall.Weaker(now, next); len(why) > 0 {
				continue
			}
			kept++
			for _, card := range slices.Concat(now.Cards, now.OtherCards) {
				for _, p := range packets {
					p.card = card
					if admitsOn(next, p) && !admitsOn(now, p) {
						t.Fatalf("got not weaker, want weaker: it admits %+v\nnow  %+v %v %v\nnext %+v %v %v", p, now.Firewall, now.Cards, now.OtherCards, next.Firewall, next.Cards, next.OtherCards)
					}
				}
			}
		}
	})
	if kept == 0 {
		t.Error("got every change as weaker, want some that are not")
	}
}

// admitsOn evaluates a packet on one of the guest's network cards. A card that the manifest does not mention may have no firewall.
func admitsOn(g guest.FirewallGuard, p packet) bool {
	switch {
	case slices.Contains(g.Removed, p.card):
		return false
	case !slices.Contains(g.Cards, p.card):
		return true
	}
	return admits(&guest.FirewallSeen{Options: g.Firewall.Options, Rules: g.Firewall.Rules, Aliases: g.Firewall.Aliases, Sets: g.Firewall.Sets}, p)
}

func drawGuarded(t *rapid.T) guest.FirewallGuard {
	f := &guest.FirewallWanted{
		Guarded: true, Options: drawOptions(t, map[string][]string{"policy_in": {"ACCEPT", "DROP"}, "policy_out": {"ACCEPT", "REJECT"}, "ipfilter": {"0", "1"}}),
		Aliases: drawAliases(t), Sets: drawSets(t, []string{"10.0.0.0", "10.0.0.1", "10.0.0.2/31", "al1"}),
	}
	f.Options["enable"] = "1"
	for range rapid.IntRange(0, 5).Draw(t, "rules") {
		f.Rules = append(f.Rules, drawCardRule(t))
	}
	g := guest.FirewallGuard{Firewall: f, Cards: []string{"net0"}}
	if rapid.Bool().Draw(t, "second card") {
		g.Cards = append(g.Cards, "net1")
	} else if rapid.Bool().Draw(t, "open card") {
		g.OtherCards = []string{"net1"}
	}
	return g
}

func drawCardRule(t *rapid.T) guest.FirewallRule {
	r := drawRule(t)
	r.Interface = rapid.SampledFrom([]string{"", "", "net0", "net1"}).Draw(t, "card")
	return r
}

// changedGuard returns a firewall after one to three small edits.
func changedGuard(t *rapid.T, now guest.FirewallGuard) guest.FirewallGuard {
	f := *now.Firewall
	seen := (&guest.FirewallSeen{Options: f.Options, Rules: f.Rules, Aliases: f.Aliases, Sets: f.Sets}).Clone()
	f.Options, f.Rules, f.Aliases, f.Sets = seen.Options, seen.Rules, seen.Aliases, seen.Sets
	next := guest.FirewallGuard{Firewall: &f, Cards: now.Cards, OtherCards: now.OtherCards}
	for range rapid.IntRange(1, 3).Draw(t, "edits") {
		at := rapid.IntRange(0, max(0, len(f.Rules)-1)).Draw(t, "at")
		switch edit := rapid.IntRange(0, 9).Draw(t, "edit"); {
		case edit == 0:
			f.Rules = slices.Insert(f.Rules, at, drawCardRule(t))
		case edit <= 2 && len(f.Rules) > 0:
			f.Rules = slices.Delete(f.Rules, at, at+1)
		case edit <= 4 && len(f.Rules) > 0:
			f.Rules[at] = drawCardRule(t)
		case edit == 5 && len(f.Rules) > 1:
			f.Rules[0], f.Rules[at] = f.Rules[at], f.Rules[0]
		case edit == 6:
			f.Options["policy_in"] = rapid.SampledFrom([]string{"ACCEPT", "DROP", ""}).Draw(t, "policy")
		case edit == 7:
			f.Sets = drawSets(t, []string{"10.0.0.0", "10.0.0.1", "10.0.0.2/31", "al1"})
		case edit == 8:
			f.Aliases = drawAliases(t)
		default:
			next.Cards, next.OtherCards = rapid.SampledFrom([][]string{{"net0"}, {"net0", "net1"}, {"net1"}}).Draw(t, "cards"), nil
			next.Removed = rapid.SampledFrom([][]string{nil, {"net0"}, {"net1"}}).Draw(t, "removed")
		}
	}
	return next
}
