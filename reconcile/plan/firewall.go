package plan

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/reason"
)

// withFirewall adds what differs in the firewall of a live guest, and why it has no effect.
func withFirewall(p Guest, d *guest.Desired, live guest.Observed, got cluster.Snapshot) Guest {
	switch {
	case d.Firewall == nil:
		return p
	case !firewallKnown(live):
		p.Conditions = append(p.Conditions, Condition{Type: NotObserved, Reason: reason.NotObserved, Message: unreadFirewall(live)})
		return p
	}
	p.Changes = append(p.Changes, firewall.Changes(d.Firewall, live.Firewall)...)
	if why := withoutFirewallEffect(d, live, got.Datacenter); len(why) > 0 {
		p.Conditions = append(p.Conditions, Condition{
			Type: Warned, Reason: reason.FirewallIneffective, Message: "its firewall, or a part of it, has no effect: " + strings.Join(why, "; "),
			Hint: reason.EnableFirewall.Text, Settings: why,
		})
	}
	return p
}

func firewallKnown(live guest.Observed) bool { return live.Firewall != nil && live.Firewall.Err == "" }

// unreadFirewall says why the firewall of a live guest is not known.
func unreadFirewall(live guest.Observed) string {
	if live.Firewall != nil {
		return "its firewall could not be read: " + live.Firewall.Err
	}
	return "its firewall was not read yet"
}

// withoutFirewallEffect returns why a firewall that shall be in force is not.
func withoutFirewallEffect(d *guest.Desired, live guest.Observed, datacenter cluster.Datacenter) []string {
	var why []string
	if d.Firewall.Options["enable"] == "1" {
		if datacenter.FirewallRead && !datacenter.FirewallOn {
			why = append(why, "the firewall of the datacenter is off")
		}
		for _, card := range guest.CardsWithoutFirewall(live) {
			why = append(why, card+" has no firewall=1")
		}
	}
	return append(why, live.Firewall.RuleErrors...)
}

// firewallStep returns the step with the next call to the firewall of a live guest. The following calls are planned from new readings.
func firewallStep(p Guest, d *guest.Desired, live guest.Observed) (Step, bool) {
	if d.Firewall == nil || !firewallKnown(live) {
		return Step{}, false
	}
	next, more := firewall.Next(d.Firewall, live.Firewall)
	if !more {
		return Step{}, false
	}
	step := newStep(p, live, cluster.OpFirewall, guest.Live, "firewall differs")
	step.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(c guest.Change) bool { return c.Write != guest.WriteFirewall })
	next.Kind, next.Node, next.VMID = live.Kind, live.Node, live.VMID
	step.Calls = []cluster.Call{next}
	return step, true
}

// leftoverStep returns the step with the next call that clears what somebody wrote into the firewall of a free vmid. Without it the new guest would have
// these rules.
func leftoverStep(d *guest.Desired, node string, left guest.FirewallSeen) (Step, bool) {
	nothing := &guest.FirewallWanted{Options: map[string]string{}, Rules: []guest.FirewallRule{}, Aliases: []guest.FirewallAlias{}, Sets: []guest.FirewallSet{}}
	for key := range left.Options {
		nothing.Options[key] = ""
	}
	next, more := firewall.Next(nothing, &left)
	if !more {
		return Step{}, false
	}
	next.Kind, next.Node, next.VMID = d.Kind, node, d.VMID
	return Step{
		Guest: d.Ref, Op: cluster.OpFirewall, Class: guest.Live, Wave: d.Wave, Changes: firewall.Changes(nothing, &left), Calls: []cluster.Call{next}, ClearsLeftover: true,
		Reason: "somebody wrote to the firewall of the free vmid",
	}, true
}

// newFirewall returns the changes of a firewall that does not exist yet.
func newFirewall(d *guest.Desired) []guest.Change {
	if d.Firewall == nil {
		return nil
	}
	return firewall.Changes(d.Firewall, &guest.FirewallSeen{})
}
