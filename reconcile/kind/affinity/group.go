package affinity

import (
	"context"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/reason"
)

// Proxmox VE 8 has no rules. A rule about nodes is a group there, and the entry of each of its guests with the HA manager names the group.

// Native keys of a group, beside nodes and comment.
const (
	keyGroup      = "group" // of an entry with the HA manager, and the id of a group
	keyRestricted = "restricted"
	keyNoFailback = "nofailback"

	typeGroup  = "group"
	keyMembers = "members" // the guests whose entries name the group, which no call about the group sets
)

// groups are the groups in the API.
//
// Source: PVE API 8, POST /cluster/ha/groups, PUT and DELETE /cluster/ha/groups/{group}.
var groups = kind.Collection{Path: "/cluster/ha/groups", ID: keyGroup}

// entries are the entries of guests with the HA manager in the API.
//
// Source: PVE API, PUT /cluster/ha/resources/{sid}.
var entries = kind.Collection{Path: "/cluster/ha/resources", ID: "sid"}

// readGroups lists the groups with their guests.
//
// Source: PVE API 8, GET /cluster/ha/groups and /cluster/ha/resources.
func readGroups(ctx context.Context, get kind.Get) ([]cluster.Object, error) {
	rows, err := kind.ReadRows(ctx, get, entries.Path, entries.Path)
	if err != nil {
		return nil, err
	}
	members := make(map[string][]string)
	for _, row := range rows {
		if group := row.Text(keyGroup); group != "" {
			members[group] = append(members[group], row.Text(entries.ID))
		}
	}
	list, err := groups.Read(ctx, get, observed)
	for _, o := range list {
		if of := members[o.ID]; len(of) > 0 {
			o.Keys[keyMembers] = listText(of)
		}
	}
	return list, err
}

// usesGroups reports whether the cluster has groups in place of rules: what was read says it, and without any object the release.
func usesGroups(found kind.Found) bool {
	if of := found.Live.Keys[keyType]; of != "" {
		return of == typeGroup
	}
	for _, other := range found.Others {
		return other.Keys[keyType] == typeGroup
	}
	return found.Release != guest.Version{} && found.Release.Major < 9
}

// asGroup returns a rule about nodes, whose guests are resolved, as a group.
func asGroup(d kind.Desired) (kind.Desired, *kind.Unresolved) {
	if of, _ := d.Text(keyType); of != typeNode {
		return d, &kind.Unresolved{
			Cause: kind.Impossible, Message: "Proxmox VE 8 has no rules about guests that run together or apart", Hint: reason.UpgradeNodes.Text,
		}
	}
	if off, _ := d.Text(keyDisable); off != "" {
		return d, &kind.Unresolved{
			Cause: kind.Impossible, Message: "a rule about nodes is a group on Proxmox VE 8, which cannot be disabled", Hint: reason.DisableByRemoval.Text,
		}
	}
	group := d
	group.Keys = nil
	for _, in := range d.Keys {
		switch in.Key {
		case keyType:
			in.Text = typeGroup
		case keyResources:
			in.Key = keyMembers
		case keyStrict:
			in.Key = keyRestricted
		case keyDisable:
			continue
		}
		group.Put(in)
	}
	return group, nil
}

// members describes the guests of a group, which change by one call each.
func members() *kind.Content {
	return &kind.Content{Key: keyMembers, Changes: memberChanges, Next: nextMember, Final: wantedMembers, Empty: withoutMembers}
}

func wantedMembers(d kind.Desired, _ cluster.Object) string {
	text, _ := d.Text(keyMembers)
	return text
}

func memberChanges(d kind.Desired, live cluster.Object) []guest.Change {
	want, got := wantedMembers(d, live), live.Keys[keyMembers]
	if want == got {
		return nil
	}
	at := d.Origin
	for _, in := range d.Keys {
		if in.Key == keyMembers {
			at = in.Origin
		}
	}
	return []guest.Change{{Key: keyMembers, From: got, To: want, Class: guest.Live, Write: guest.WriteSet, Value: want, Origin: at}}
}

// nextMember takes a guest out that the rule does not name, and puts one in if there is none to take out.
func nextMember(d kind.Desired, live cluster.Object) (kind.ItemCall, bool) {
	want, got := split(wantedMembers(d, live)), split(live.Keys[keyMembers])
	for _, id := range got {
		if !slices.Contains(want, id) {
			return withoutMember(d.ID, got, id), true
		}
	}
	for _, id := range want {
		if !slices.Contains(got, id) {
			call := memberCall(d.ID, id)
			call.Params = map[string]string{keyGroup: d.ID}
			return kind.ItemCall{Call: call, After: listText(append(got, id))}, true
		}
	}
	return kind.ItemCall{}, false
}

// withoutMembers takes all guests out of a group: Proxmox refuses to remove one that has some.
func withoutMembers(live cluster.Object) []kind.ItemCall {
	var calls []kind.ItemCall
	rest := split(live.Keys[keyMembers])
	for _, id := range slices.Clone(rest) {
		calls = append(calls, withoutMember(live.ID, rest, id))
		rest = slices.DeleteFunc(rest, func(other string) bool { return other == id })
	}
	return calls
}

func withoutMember(group string, members []string, id string) kind.ItemCall {
	call := memberCall(group, id)
	call.Delete = []string{keyGroup}
	return kind.ItemCall{Call: call, After: listText(slices.DeleteFunc(slices.Clone(members), func(other string) bool { return other == id }))}
}

func memberCall(group, id string) cluster.Call {
	return cluster.Call{Op: cluster.OpObjectSet, Kind: Name, Object: group, Item: id}
}

// encodeMember returns the request of a call about a guest of a group.
func encodeMember(call cluster.Call) kind.Request {
	call.Object = call.Item
	return entries.Encode(call)
}

// encodeGroup returns the request of a call about a group. Its type is no parameter of a change.
func encodeGroup(call cluster.Call) kind.Request {
	call.Params = maps.Clone(call.Params)
	delete(call.Params, keyType)
	return groups.Encode(call)
}

// split returns the items of a list of Proxmox.
func split(text string) []string { return strings.FieldsFunc(text, isSeparator) }
