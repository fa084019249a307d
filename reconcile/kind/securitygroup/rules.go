package securitygroup

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// observed returns the rules that Proxmox shows of a group, and their digest.
func observed(rows []kind.Row) (text, digest string, err error) {
	rules := make([]guest.FirewallRule, len(rows))
	for i, row := range rows {
		if row.Text("pos") != strconv.Itoa(i) {
			return "", "", fmt.Errorf("rule %d has the position %q", i, row.Text("pos"))
		}
		params := make(map[string]string, len(row))
		for key := range row {
			params[key] = row.Text(key)
		}
		rules[i], digest = guest.RuleOf(params), row.Text("digest")
	}
	return kind.RulesText(rules), digest, nil
}

// wanted returns the rules of a manifest, as package firewall compares them.
func wanted(d kind.Desired) *guest.FirewallWanted {
	text, _ := d.Text(keyRules)
	return &guest.FirewallWanted{Rules: kind.RulesOf(text), RuleOrigins: d.Items, KeepOthers: d.Keeps, Origin: d.Origin}
}

// seen returns the rules of a live group as those of a firewall in force: some guest may use them.
func seen(live cluster.Object) *guest.FirewallSeen {
	return &guest.FirewallSeen{Options: map[string]string{"enable": "1"}, Rules: kind.RulesOf(live.Keys[keyRules]), RulesDigest: live.Digest}
}

// changes returns how the rules of a live group differ from the wanted ones.
func changes(d kind.Desired, live cluster.Object) []guest.Change {
	list := firewall.Changes(wanted(d), seen(live))
	for i := range list {
		list[i].Key, list[i].Write = strings.TrimPrefix(list[i].Key, "firewall."), guest.WriteSet
		if list[i].To == "" {
			list[i].Write = guest.WriteDelete
		}
	}
	return list
}

// next returns the next call about a rule. Between two calls, the rules decide about each packet as before or as wanted.
func next(d kind.Desired, live cluster.Object) (kind.ItemCall, bool) {
	call, more := firewall.Next(wanted(d), seen(live))
	return itemCall(d.ID, call, kind.RulesOf(live.Keys[keyRules])), more
}

// final returns the rules after all calls. Those that the manifest does not mention stay where the calls leave them, so these calls are followed.
func final(d kind.Desired, live cluster.Object) string {
	want := wanted(d)
	if !want.KeepOthers {
		return kind.RulesText(want.Rules)
	}
	now := seen(live)
	for range maxCalls {
		call, more := firewall.Next(want, now)
		if !more {
			break
		}
		now.Rules = firewall.RulesAfter(now.Rules, call)
	}
	return kind.RulesText(now.Rules)
}

// maxCalls bounds the calls that are followed: each rule of a manifest and each live one takes a few.
const maxCalls = 10_000

func itemCall(id string, call cluster.Call, rules []guest.FirewallRule) kind.ItemCall {
	call.Op, call.Kind, call.Object = cluster.OpObjectSet, Name, id
	return kind.ItemCall{Call: call, After: kind.RulesText(firewall.RulesAfter(rules, call))}
}

// empty returns the calls that remove the rules of a group, the last one first. Only the first call has a digest: it changes the digest of the others.
func empty(live cluster.Object) []kind.ItemCall {
	rules, digest := kind.RulesOf(live.Keys[keyRules]), live.Digest
	var list []kind.ItemCall
	for pos := range slices.Backward(rules) {
		call := cluster.Call{Firewall: cluster.FirewallCall{Verb: cluster.FirewallDelete, Object: cluster.FirewallRule, Pos: pos}, Digest: digest}
		list, digest = append(list, itemCall(live.ID, call, rules[:pos+1])), ""
	}
	return list
}
