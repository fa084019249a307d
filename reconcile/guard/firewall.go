package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// firewallText names a guarded firewall by 128 bits of its hash: the firewall itself is too long for a line.
func firewallText(g *journal.Guarded) string {
	if g.Rules.Firewall == "" {
		return "not guarded"
	}
	sum := sha256.Sum256([]byte(g.Rules.Firewall))
	return "guarded " + hex.EncodeToString(sum[:16])
}

func isWeakerFirewall(next, now *journal.Guarded, _ time.Time) bool {
	if next.Rules.Firewall == "" {
		return now.Rules.Firewall != ""
	}
	why, _ := weakerFirewall(next, now)
	return len(why) > 0
}

// weakerFirewall says in what the next guarded firewall may admit more than the one in force, and which network cards do. A record that cannot be read is stronger
// than any other.
func weakerFirewall(next, now *journal.Guarded) (why, cards []string) {
	if now.Rules.Firewall == "" || next.Rules.Firewall == "" || next.Rules.Firewall == now.Rules.Firewall {
		return nil, nil
	}
	from, err := guest.DecodeFirewallGuard(now.Rules.Firewall)
	if err != nil {
		return []string{"the firewall in force cannot be read"}, nil
	}
	to, err := guest.DecodeFirewallGuard(next.Rules.Firewall)
	if err != nil {
		return []string{"the firewall cannot be read"}, nil
	}
	return firewall.Weaker(from, to)
}

// applyFirewall gives a guest the firewall in force. Without a readable record its firewall is left alone.
func applyFirewall(d *guest.Desired, now *journal.Guarded) {
	g, err := guest.DecodeFirewallGuard(now.Rules.Firewall)
	if err != nil {
		d.Firewall = nil
		return
	}
	*d = d.WithFirewall(g)
}

// Firewall returns the guarded firewall in force of a guest, nil if there is none or if the record cannot be read.
func Firewall(g journal.Guarded) *guest.FirewallWanted {
	if g.Rules.Firewall == "" {
		return nil
	}
	decoded, err := guest.DecodeFirewallGuard(g.Rules.Firewall)
	if err != nil {
		return nil
	}
	return decoded.Firewall
}

// SatisfiesFirewall reports whether the guarded firewall of an earlier version of a guest certainly admits no more than the one in effect. A guest that a rollout
// holds then keeps it: approvals have opened the firewall, and the guest is not opened before its turn.
func SatisfiesFirewall(now, earlier *guest.Desired) bool {
	inEffect, before := now.FirewallGuard(), earlier.FirewallGuard()
	if inEffect == "" || before == "" {
		return false
	}
	why, _ := weakerFirewall(&journal.Guarded{Rules: journal.GuardRules{Firewall: before}}, &journal.Guarded{Rules: journal.GuardRules{Firewall: inEffect}})
	return len(why) == 0
}
