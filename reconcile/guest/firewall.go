package guest

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// FirewallWanted is the firewall that a manifest wants of a guest. What it does not mention is not managed.
type FirewallWanted struct {
	Options     map[string]string // by native key; "" wants the option unset
	Rules       []FirewallRule    // in order; nil is unmanaged
	RuleOrigins []Origin          // of Rules
	Aliases     []FirewallAlias   // sorted by name; nil is unmanaged
	Sets        []FirewallSet     // sorted by name; nil is unmanaged
	KeepOthers  bool              // rules, aliases and sets that the manifest does not mention stay
	Guarded     bool              // opening it is a weakening; options, rules, aliases and sets are then managed as a whole
	Origin      Origin
}

// NamesManaged reports whether aliases or sets are managed.
func (f *FirewallWanted) NamesManaged() bool { return f.Aliases != nil || f.Sets != nil }

// FirewallRule is a rule as Proxmox stores it. Two rules are the same if they are equal.
type FirewallRule struct {
	Type       string // in, out, group
	Action     string // ACCEPT, DROP, REJECT, or the name of a security group
	Macro      string // in lower case
	Interface  string // net0
	Source     string
	Dest       string
	Protocol   string
	SourcePort string
	DestPort   string
	ICMPType   string
	Log        string
	Comment    string
	Enabled    bool
}

// Effect returns the rule without what has no effect on packets: its comment and what it logs.
func (r FirewallRule) Effect() FirewallRule {
	r.Comment, r.Log = "", ""
	return r
}

// Disabled returns the rule without effect.
func (r FirewallRule) Disabled() FirewallRule {
	r.Enabled = false
	return r
}

// ruleFields are the native names of a rule's fields.
var ruleFields = map[string]func(*FirewallRule) *string{
	"type": func(r *FirewallRule) *string { return &r.Type }, "action": func(r *FirewallRule) *string { return &r.Action },
	"macro": func(r *FirewallRule) *string { return &r.Macro }, "iface": func(r *FirewallRule) *string { return &r.Interface },
	"source": func(r *FirewallRule) *string { return &r.Source }, "dest": func(r *FirewallRule) *string { return &r.Dest },
	"proto": func(r *FirewallRule) *string { return &r.Protocol }, "sport": func(r *FirewallRule) *string { return &r.SourcePort },
	"dport": func(r *FirewallRule) *string { return &r.DestPort }, "icmp-type": func(r *FirewallRule) *string { return &r.ICMPType },
	"log": func(r *FirewallRule) *string { return &r.Log }, "comment": func(r *FirewallRule) *string { return &r.Comment },
}

// Params returns the rule by native key. A key without a value is missing.
func (r FirewallRule) Params() map[string]string {
	params := map[string]string{"enable": "0"}
	if r.Enabled {
		params["enable"] = "1"
	}
	for key, field := range ruleFields {
		if v := *field(&r); v != "" {
			params[key] = v
		}
	}
	return params
}

// RuleOf returns the rule with the values of native keys. It ignores other keys.
func RuleOf(params map[string]string) FirewallRule {
	r := FirewallRule{Enabled: params["enable"] != "" && params["enable"] != "0"}
	for key, field := range ruleFields {
		*field(&r) = params[key]
	}
	r.Macro = strings.ToLower(r.Macro) // Proxmox ignores the case of its names
	return r
}

// String describes the rule for people: "in ACCEPT tcp 10.0.0.0/8 -> :22".
func (r FirewallRule) String() string {
	words := []string{r.Type, r.Action}
	if r.Type == "group" {
		words = []string{"group", r.Action}
	}
	add := func(prefix, value string) {
		if value != "" {
			words = append(words, prefix+value)
		}
	}
	add("", r.Macro)
	add("", r.Protocol)
	add("type ", r.ICMPType)
	add("on ", r.Interface)
	add("from ", r.Source)
	add("from port ", r.SourcePort)
	add("to ", r.Dest)
	add("to port ", r.DestPort)
	add("log ", r.Log)
	if !r.Enabled {
		words = append(words, "(disabled)")
	}
	if r.Comment != "" {
		words = append(words, "# "+r.Comment)
	}
	return strings.Join(words, " ")
}

// FirewallAlias is a name for an address or a network.
type FirewallAlias struct{ Name, CIDR, Comment string }

// String describes the alias for people, "" if it does not exist.
func (a FirewallAlias) String() string { return commented(a.CIDR, a.Comment) }

// commented returns a text with the comment behind it.
func commented(text, comment string) string {
	if comment == "" {
		return text
	}
	return text + " # " + comment
}

// FirewallSet is a set of addresses.
type FirewallSet struct {
	Name    string
	Comment string
	Entries []FirewallEntry // sorted by CIDR
	Digest  string          // of the entries of an observed set
}

// FirewallEntry is one element of a set.
type FirewallEntry struct {
	CIDR    string
	NoMatch bool // the addresses do not belong to the set
	Comment string
}

// String describes the entry for people, "" if it does not exist.
func (e FirewallEntry) String() string {
	text := commented(e.CIDR, e.Comment)
	if e.NoMatch {
		text = "not " + text
	}
	return text
}

// String describes the set for people, "" if it does not exist.
func (s FirewallSet) String() string {
	if s.Name == "" {
		return ""
	}
	entries := make([]string, len(s.Entries))
	for i, e := range s.Entries {
		entries[i] = e.String()
	}
	return commented("{"+strings.Join(entries, ", ")+"}", s.Comment)
}

// FirewallSeen is the firewall of a guest as Proxmox showed it at ReadAt.
type FirewallSeen struct {
	Options       map[string]string // those that are set, by native key
	OptionsDigest string
	Rules         []FirewallRule
	RulesDigest   string
	RuleErrors    []string // what Proxmox finds wrong with rules, such as "rule 2: no such ipset 'admins'"
	Named         bool     // aliases and sets were read
	Aliases       []FirewallAlias
	AliasesDigest string
	Sets          []FirewallSet
	SetsDigest    string
	ReadAt        time.Time
	Err           string // why the newest reading failed; the rest is older, or empty
}

// Empty reports whether nothing is configured.
func (f *FirewallSeen) Empty() bool {
	return len(f.Options) == 0 && len(f.Rules) == 0 && len(f.Aliases) == 0 && len(f.Sets) == 0
}

// Clone returns a deep copy.
func (f *FirewallSeen) Clone() *FirewallSeen {
	n := *f
	n.Options, n.Rules, n.Aliases, n.Sets = maps.Clone(f.Options), slices.Clone(f.Rules), slices.Clone(f.Aliases), slices.Clone(f.Sets)
	for i := range n.Sets {
		n.Sets[i].Entries = slices.Clone(n.Sets[i].Entries)
	}
	return &n
}

// CardsWithoutFirewall returns the network cards of a live guest to which its firewall does not apply, sorted.
func CardsWithoutFirewall(o Observed) []string {
	var cards []string
	for key, value := range o.Keys {
		if isCard(key) && !hasPart(value.Text, "firewall=1") {
			cards = append(cards, key)
		}
	}
	slices.Sort(cards)
	return cards
}

// hasPart reports whether a property string contains a part.
func hasPart(text, part string) bool {
	for p := range strings.SplitSeq(text, ",") {
		if p == part {
			return true
		}
	}
	return false
}
