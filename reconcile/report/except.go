package report

import (
	"fmt"
	"strings"

	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// Except counts what guests that are in sync lack although nothing is left for the agent to do. The conditions of the guests name it, and what ends it.
type Except struct {
	Guests   []string `json:"guests"`   // labels
	Root     int      `json:"root"`     // settings that only root@pam may write
	Firewall int      `json:"firewall"` // parts of firewalls that have no effect
}

// NewExcept counts what guests in sync lack; nil if they lack nothing.
func NewExcept(guests []Guest) *Except {
	var e Except
	for _, g := range guests {
		if one := g.Except(); one != nil {
			e.Guests = append(e.Guests, one.Guests...)
			e.Root, e.Firewall = e.Root+one.Root, e.Firewall+one.Firewall
		}
	}
	if len(e.Guests) == 0 {
		return nil
	}
	return &e
}

// Except counts what the guest lacks although it is in sync; nil if that is nothing, and for a guest that is not in sync.
func (g Guest) Except() *Except {
	if g.Sync != Synced {
		return nil
	}
	e := Except{Guests: []string{g.Label()}}
	for _, c := range g.Conditions {
		switch {
		case c.Type != plan.Warned:
		case c.Reason == reason.NeedsRoot:
			e.Root += len(c.Settings)
		case c.Reason == reason.FirewallIneffective:
			e.Firewall += len(c.Settings)
		}
	}
	if e.Root+e.Firewall == 0 {
		return nil
	}
	return &e
}

// String says what is lacking: "except for 2 settings that need root"; "" if that is nothing.
func (e *Except) String() string {
	if e == nil {
		return ""
	}
	var parts []string
	for _, part := range []struct {
		count     int
		one, many string
	}{
		{e.Root, "1 setting that needs root", "%d settings that need root"},
		{e.Firewall, "1 part of a firewall that has no effect", "%d parts of firewalls that have no effect"},
	} {
		switch part.count {
		case 0:
		case 1:
			parts = append(parts, part.one)
		default:
			parts = append(parts, fmt.Sprintf(part.many, part.count))
		}
	}
	return "except for " + strings.Join(parts, " and ")
}
