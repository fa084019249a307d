package affinity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/reason"
)

// lower completes what the fields of a manifest say. The key of the guests has those that are named by vmid, until resolve adds the others.
func lower(spec kind.Spec, d *kind.Desired) []kind.Problem {
	var problems []kind.Problem
	problem := func(field string, at guest.Origin, message, hint string) {
		problems = append(problems, kind.Problem{Field: field, Origin: at, Message: message, Hint: hint})
	}
	of := spec["type"]
	native := map[string]string{wordNode: typeNode, wordResource: typeResource}[of.Text]
	if native == "" {
		return nil // the problem of the field is reported
	}
	d.Put(kind.Intent{Key: keyType, Text: native, Origin: of.Origin})
	lowerGuests(spec["guests"], native, d, problem)
	needs, foreign := "nodes", []string{"affinity"}
	if native == typeResource {
		needs, foreign = "affinity", []string{"nodes", "strict"}
	}
	if v := spec[needs]; v.Text == "" && len(v.List) == 0 {
		problem(needs, of.Origin, fmt.Sprintf("got none, want it with type: %s", of.Text), "")
	}
	for _, name := range foreign {
		if v, set := spec[name]; set {
			problem(name, v.Origin, fmt.Sprintf("got %s with type: %s, want it left out", name, of.Text), "")
		}
	}
	if v, set := spec["nodes"]; set {
		if name := duplicateNode(v.Texts()); name != "" {
			problem("nodes", v.Origin, fmt.Sprintf("got the node %s twice, want it once", name), "")
		}
		d.Put(kind.Intent{Key: keyNodes, Text: nodesText(v.Texts()), Origin: v.Origin})
	}
	if v, set := spec["strict"]; set {
		d.Put(kind.Intent{Key: keyStrict, Text: strings.Trim(v.Text, "0"), Origin: v.Origin}) // a rule that is not strict has no such key
	}
	if v, set := spec["enabled"]; set {
		// disable=0 leaves a rule disabled, so the key is removed.
		d.Put(kind.Intent{Key: keyDisable, Text: map[string]string{"0": "1"}[v.Text], Origin: v.Origin})
	}
	return problems
}

// lowerGuests notes the guests of a rule.
func lowerGuests(v kind.Value, native string, d *kind.Desired, problem func(field string, at guest.Origin, message, hint string)) {
	var named []string
	for _, item := range v.List {
		if strings.Contains(item.Text, "/") {
			d.Guests = append(d.Guests, kind.GuestLabel{Label: item.Text, Key: keyResources, Origin: item.Origin})
		} else {
			named = append(named, item.Text)
		}
	}
	d.Put(kind.Intent{Key: keyResources, Text: listText(named), Origin: v.Origin})
	least := map[string]int{typeNode: 1, typeResource: 2}[native]
	if len(v.List) < least {
		problem("guests", v.Origin, fmt.Sprintf("got %d, want at least %d", len(v.List), least), "")
	}
}

// resolve puts the guests that the manifest names into the rule. Proxmox accepts only guests that the HA manager manages.
func resolve(d kind.Desired, found kind.Found) (kind.Desired, *kind.Unresolved) {
	wanted, _ := d.Text(keyType)
	if live := found.Live.Keys[keyType]; live != "" && live != wanted && live != typeGroup {
		return d, &kind.Unresolved{
			Cause: kind.Impossible, Message: fmt.Sprintf("the rule %s has the type %s, and Proxmox does not change the type of a rule", d.ID, live),
			Hint: reason.AnotherID.Text,
		}
	}
	own, _ := d.Text(keyResources)
	ids := split(own)
	at := d.Origin
	for _, in := range d.Keys {
		if in.Key == keyResources {
			at = in.Origin
		}
	}
	for _, g := range d.Guests {
		ids = append(ids, found.Named[g.Label].HAName())
	}
	var waits []string
	var vmids []int
	for _, id := range ids {
		_, vmid, _ := strings.Cut(id, ":")
		if n, err := strconv.Atoi(vmid); err != nil || !found.HA[n] {
			waits, vmids = append(waits, id), append(vmids, n)
		}
	}
	if len(waits) > 0 {
		slices.Sort(waits)
		return d, &kind.Unresolved{
			Cause: kind.NotInHA, Message: "the HA manager does not manage " + strings.Join(slices.Compact(waits), ", ") + ", and Proxmox has no rule with such guests",
			Hint: reason.SetHA.Text, Guests: vmids,
		}
	}
	d.Put(kind.Intent{Key: keyResources, Text: listText(ids), Origin: at})
	return d, nil
}
