package manifest

import (
	"fmt"

	"gitops-agent/reconcile/guest"
)

// The journal keeps every guarded firewall, and an acceptance records those of all guests at once, within journal.MaxAppend.
const (
	maxGuardedFirewall  = 32 << 10 // bytes of the firewall of one guest
	maxGuardedFirewalls = 4 << 20  // bytes of those of all guests
)

// checkGuardedFirewall reports a guarded firewall that is too large.
func checkGuardedFirewall(l *lowering, d *guest.Desired, at place) {
	if size := len(d.FirewallGuard()); size > maxGuardedFirewall {
		l.problem(at, fmt.Sprintf("got a firewall of %d bytes as the journal keeps it, want at most %d beside guarded: true", size, maxGuardedFirewall), "use security groups or sets of the cluster")
	}
}

// checkGuardedFirewalls reports guarded firewalls that are too large together, at the largest of them.
func (p *parser) checkGuardedFirewalls() {
	var total, guests, most int
	var largest Guest
	for _, g := range p.set.Guests {
		size := len(g.desired.FirewallGuard())
		if size == 0 {
			continue
		}
		total, guests = total+size, guests+1
		if size > most {
			largest, most = g, size
		}
	}
	if total <= maxGuardedFirewalls {
		return
	}
	p.report.add(Problem{
		Origin: guest.Origin(p.specs[largest.Label()].shared().firewall.value.guarded.at), Guest: largest.Label(), Field: "firewall.guarded",
		Message: fmt.Sprintf("got %d guests whose guarded firewalls take %d bytes as the journal keeps them, want at most %d; this one takes %d", guests, total, maxGuardedFirewalls, most),
		Hint:    "move rules that many guests have into security groups, and addresses into sets of the cluster",
	})
}
