package journal

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Guests of one class have the same guarded firewall, which may have 32 KiB. So a payload contains each firewall once: a record whose firewall is that of an
// earlier record in the payload names the vmid of that one. Only a payload has this form; a Guarded record in memory has its whole firewall.

// guardedAs is a Guarded record as a payload contains it.
type guardedAs struct {
	Guarded
	FirewallAs int `json:"firewallAs,omitempty"` // the vmid of an earlier record in the payload with the same firewall
}

// olderGuarded also accepts the fields that older releases wrote and that nothing reads.
type olderGuarded struct {
	guardedAs
	ShutdownTimeout ignored `json:"shutdownTimeoutNanos"`
	Protection      ignored `json:"protection"`
}

// sharedFirewalls is the payload version of a record with firewallAs.
const sharedFirewalls = 16

// encodeBodies encodes the bodies of one payload, or of a part of it.
func encodeBodies(bodies []Body) ([]element, error) {
	elements := make([]element, len(bodies))
	first, written := map[string]int{}, firewallsBefore{}
	for i, b := range bodies {
		var err error
		elements[i], err = encodeBody(b)
		if g, is := b.(Guarded); is && g.Rules.Firewall != "" {
			if as, found := first[g.Rules.Firewall]; found && as != g.VMID && written[as] == g.Rules.Firewall {
				elements[i], err = encodeShared(g, as)
			} else {
				first[g.Rules.Firewall] = g.VMID
			}
			written[g.VMID] = g.Rules.Firewall
		}
		if err != nil {
			return nil, err
		}
	}
	return elements, nil
}

func encodeShared(g Guarded, as int) (element, error) {
	k := kindOf(g)
	g.Rules.Firewall = ""
	body, err := json.Marshal(guardedAs{g, as})
	if err != nil {
		return element{}, fmt.Errorf("encode %s: %w", k.name, err)
	}
	return element{sharedFirewalls, underName(k, body)}, nil
}

// firewallsBefore are the firewalls of the Guarded records of a payload up to one of them, by vmid.
type firewallsBefore map[int]string

var (
	errNoFirewall   = errors.New("firewallAs names no earlier record with a firewall")
	errTwoFirewalls = errors.New("firewallAs stands beside a firewall")
)

// whole returns a decoded body with its firewall, and the version that it needs in the payload.
func (f firewallsBefore) whole(k *kind, b Body) (Body, int, error) {
	shared, is := b.(guardedAs)
	if !is {
		return b, k.needs(b), nil
	}
	g, version := shared.Guarded, 0
	if shared.FirewallAs != 0 {
		text := f[shared.FirewallAs]
		switch {
		case g.Rules.Firewall != "":
			return nil, 0, errTwoFirewalls
		case text == "":
			return nil, 0, errNoFirewall
		}
		g.Rules.Firewall, version = text, sharedFirewalls
	}
	f[g.VMID] = g.Rules.Firewall
	return g, max(version, k.needs(g)), nil
}

// shareFirewall reports whether two records have one firewall, which a payload of both contains once.
func shareFirewall(a, b Record) bool {
	first, isFirst := a.Body.(Guarded)
	second, isSecond := b.Body.(Guarded)
	return isFirst && isSecond && first.Rules.Firewall != "" && first.Rules.Firewall == second.Rules.Firewall
}
