package manifest

import (
	"fmt"

	"gitops-agent/reconcile/guest"
)

// The journal keeps every guarded firewall, and an acceptance records those of all guests at once, within journal.MaxAppend. It writes equal ones once.
const (
	maxGuardedFirewall  = 32 << 10 // bytes of the firewall of one guest
	maxGuardedFirewalls = 4 << 20  // bytes of all that differ; the rest of an acceptance has as much room
)

// checkGuardedFirewall reports a guarded firewall that is too large.
func checkGuardedFirewall(l *lowering, d *guest.Desired, at place) {
	if size := len(d.FirewallGuard()); size > maxGuardedFirewall {
		l.problem(at, fmt.Sprintf("got a firewall of %d bytes as the journal keeps it, want at most %d beside guarded: true", size, maxGuardedFirewall), "use security groups or sets of the cluster")
	}
}

// checkGuardedFirewalls reports guarded firewalls that are too large together, at the largest of them. Those that are equal, such as those of a class, count once.
func (p *parser) checkGuardedFirewalls() {
	var total, most int
	var largest Guest
	known := make(map[string]bool)
	for _, g := range p.set.Guests {
		text := g.desired.FirewallGuard()
		if text == "" || known[text] {
			continue
		}
		known[text] = true
		if total += len(text); len(text) > most {
			largest, most = g, len(text)
		}
	}
	if total <= maxGuardedFirewalls {
		return
	}
	p.report.add(Problem{
		Origin: guest.Origin(p.specs[largest.Label()].shared().firewall.value.guarded.at), Guest: largest.Label(), Field: "firewall.guarded",
		Message: fmt.Sprintf("got %d different guarded firewalls, which take %d bytes as the journal keeps them, want at most %d; this one takes %d", len(known), total, maxGuardedFirewalls, most),
		Hint:    "move rules that many guests have into security groups, and addresses into sets of the cluster",
	})
}
