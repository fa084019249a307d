package guest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// FirewallGuard is a firewall that its manifest guards, and the network cards of the guest to which it applies.
type FirewallGuard struct {
	Firewall   *FirewallWanted
	Cards      []string // network cards that the manifest gives firewall: true, sorted
	OtherCards []string // the other network cards that the manifest wants, sorted
	Removed    []string // network cards that the manifest wants to be absent, sorted
	Devices    []string // PCI and USB devices of the host that the manifest wants, sorted: they may be network cards, to which no firewall applies. nil if an older release wrote the record
}

// firewallGuardJSON is the form of a FirewallGuard in the journal.
type firewallGuardJSON struct {
	Options    map[string]string   `json:"options"`
	Rules      []map[string]string `json:"rules"` // by native key
	Aliases    []firewallAliasJSON `json:"aliases,omitempty"`
	Sets       []firewallSetJSON   `json:"sets,omitempty"`
	Cards      []string            `json:"cards,omitempty"`
	OtherCards []string            `json:"otherCards,omitempty"`
	Removed    []string            `json:"removed,omitempty"`
	Devices    []string            `json:"dev"` // few bytes, as all guarded firewalls are bounded together
}

type firewallAliasJSON struct {
	Name    string `json:"name"`
	CIDR    string `json:"cidr"`
	Comment string `json:"comment,omitempty"`
}

type firewallSetJSON struct {
	Name    string              `json:"name"`
	Comment string              `json:"comment,omitempty"`
	Entries []firewallEntryJSON `json:"entries,omitempty"`
}

type firewallEntryJSON struct {
	CIDR    string `json:"cidr"`
	NoMatch bool   `json:"noMatch,omitempty"`
	Comment string `json:"comment,omitempty"`
}

// FirewallGuard returns the guarded firewall of the manifest as the journal records it, "" if the manifest guards none.
func (d *Desired) FirewallGuard() string {
	if d.Firewall == nil || !d.Firewall.Guarded {
		return ""
	}
	form := firewallGuardJSON{Options: d.Firewall.Options, Rules: make([]map[string]string, len(d.Firewall.Rules)), Devices: []string{}}
	for i, r := range d.Firewall.Rules {
		form.Rules[i] = r.Params()
	}
	for _, a := range d.Firewall.Aliases {
		form.Aliases = append(form.Aliases, firewallAliasJSON(a))
	}
	for _, s := range d.Firewall.Sets {
		set := firewallSetJSON{Name: s.Name, Comment: s.Comment}
		for _, e := range s.Entries {
			set.Entries = append(set.Entries, firewallEntryJSON(e))
		}
		form.Sets = append(form.Sets, set)
	}
	for i := range d.Intents {
		in := &d.Intents[i]
		if device := hostDevice(in); device != "" {
			form.Devices = append(form.Devices, device)
		}
		switch {
		case !isCard(in.Key):
		case !wantsCard(in):
			form.Removed = append(form.Removed, in.Key)
		case cardHasFirewall(in) && !ignores(d.Ignore, in.Key, "") && !ignores(d.Ignore, in.Key, "firewall"):
			form.Cards = append(form.Cards, in.Key)
		default:
			form.OtherCards = append(form.OtherCards, in.Key)
		}
	}
	slices.Sort(form.Devices)
	text, err := json.Marshal(form)
	if err != nil {
		panic("a firewall of plain texts cannot be marshaled: " + err.Error())
	}
	return string(text)
}

// DecodeFirewallGuard returns the guarded firewall in a record.
func DecodeFirewallGuard(text string) (FirewallGuard, error) {
	var form firewallGuardJSON
	if err := json.Unmarshal([]byte(text), &form); err != nil {
		return FirewallGuard{}, fmt.Errorf("decode a guarded firewall: %w", err)
	}
	f := &FirewallWanted{Guarded: true, Options: form.Options, Rules: []FirewallRule{}, Aliases: []FirewallAlias{}, Sets: []FirewallSet{}}
	if f.Options == nil {
		f.Options = map[string]string{}
	}
	for _, params := range form.Rules {
		f.Rules = append(f.Rules, RuleOf(params))
	}
	for _, a := range form.Aliases {
		f.Aliases = append(f.Aliases, FirewallAlias(a))
	}
	for _, s := range form.Sets {
		set := FirewallSet{Name: s.Name, Comment: s.Comment}
		for _, e := range s.Entries {
			set.Entries = append(set.Entries, FirewallEntry(e))
		}
		f.Sets = append(f.Sets, set)
	}
	return FirewallGuard{Firewall: f, Cards: form.Cards, OtherCards: form.OtherCards, Removed: form.Removed, Devices: form.Devices}, nil
}

// WithFirewall returns the guest with a guarded firewall, also if its manifest has another one: the network cards of the guard have it, and so has each card that the
// guard does not know. A device of the host that it does not know is left out.
func (d Desired) WithFirewall(g FirewallGuard) Desired {
	f := *g.Firewall
	if f.Origin = d.Origin; d.Firewall != nil {
		f.Origin = d.Firewall.Origin
	}
	d.Firewall = &f
	d.Intents = slices.DeleteFunc(slices.Clone(d.Intents), func(in Intent) bool {
		device := hostDevice(&in)
		return g.Devices != nil && device != "" && !slices.Contains(g.Devices, device)
	})
	for i := range d.Intents {
		in := &d.Intents[i]
		if isCard(in.Key) && wantsCard(in) && !slices.Contains(g.OtherCards, in.Key) {
			*in = withCardFirewall(*in)
		}
	}
	d.Ignore = slices.DeleteFunc(slices.Clone(d.Ignore), func(entry string) bool {
		key, sub, _ := strings.Cut(entry, ".")
		return slices.Contains(g.Cards, key) && (sub == "" || sub == "firewall")
	})
	return d
}

// isCard reports whether a key is the slot of a network card.
func isCard(key string) bool {
	number, isNet := strings.CutPrefix(key, "net")
	_, err := strconv.ParseUint(number, 10, 16)
	return isNet && err == nil
}

// hostDevice returns the PCI or USB device of the host that an intent wants, by its mapping or address, "" if it wants none. Slots that this release does not know count too.
func hostDevice(in *Intent) string {
	bus := strings.TrimRight(in.Key, "0123456789")
	syntaxes := map[string]*syntax{"hostpci": pciSyntax, "usb": usbSyntax}
	if syntaxes[bus] == nil || !wantsCard(in) {
		return ""
	}
	parts := in.parts(syntaxes[bus])
	name := cmp.Or(parts.text("mapping"), parts.text("host"))
	if name == "spice" {
		return "" // a device of the person who looks at the console
	}
	return bus + " " + name
}

func wantsCard(in *Intent) bool { return in.Verb == Want && (in.Text != "" || len(in.Sub) > 0) }

func cardHasFirewall(in *Intent) bool {
	if in.Text != "" {
		return slices.Contains(strings.Split(in.Text, ","), "firewall=1")
	}
	return in.Sub["firewall"] == "1"
}

// withCardFirewall returns the intent of a network card with firewall: true.
func withCardFirewall(in Intent) Intent {
	if in.Text == "" {
		in.Sub = maps.Clone(in.Sub)
		in.Sub["firewall"] = "1"
		return in
	}
	parts := slices.DeleteFunc(strings.Split(in.Text, ","), func(part string) bool { return strings.HasPrefix(part, "firewall=") })
	in.Text = strings.Join(append(parts, "firewall=1"), ",")
	return in
}
