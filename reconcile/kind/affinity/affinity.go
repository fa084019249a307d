// Package affinity describes the kind AffinityRule: on which nodes the HA manager runs guests, and which guests it keeps together or apart. On Proxmox VE 8 a rule
// about nodes is a group of the HA manager.
package affinity

import (
	"cmp"
	"context"
	"maps"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/object"
)

// Name is the kind in manifests and labels.
const Name = cluster.HARules

// Native keys.
const (
	keyType      = "type"
	keyResources = "resources"
	keyNodes     = "nodes"
	keyStrict    = "strict"
	keyAffinity  = "affinity"
	keyDisable   = "disable"
	keyComment   = "comment"
)

// Native types of rules.
const (
	typeNode     = "node-affinity"
	typeResource = "resource-affinity"
)

// rules are the rules in the API.
//
// Source: PVE API, POST /cluster/ha/rules, PUT and DELETE /cluster/ha/rules/{rule}.
var rules = kind.Collection{Path: "/cluster/ha/rules", ID: "rule"}

// Kind returns the kind.
func Kind() *kind.Kind {
	k := &kind.Kind{
		Name: Name, Noun: "rule of affinity", Plural: "rules of affinity", Fields: fields(),
		ID: kind.IDRule{
			Want: "the id of a rule: a letter, then letters, digits, - and _", Examples: []string{"web-apart"}, Max: 64, Pattern: `[A-Za-z][A-Za-z0-9_-]+`,
		},
		Note:    kind.CommentRule{Key: keyComment, ASCII: true},
		Lower:   lower,
		Resolve: resolve,
		Native:  native,
		Read:    read,
		Encode:  func(call cluster.Call) (kind.Request, error) { return encode(call), nil },
		Calls:   calls,
		Content: members(),
		Edges:   edges,
		Nodes: func(d kind.Desired) []string {
			text, _ := d.Text(keyNodes)
			return nodeNames(text)
		},
		Privileges: func(d kind.Desired) []guest.Need {
			return []guest.Need{
				{Path: "/", Privilege: "Sys.Audit", Key: "id", Origin: d.Origin},
				{Path: "/", Privilege: "Sys.Console", Key: "id", Origin: d.Origin},
			}
		},
	}
	k.Raise = func(o cluster.Object) ([]kind.Raised, []string) { return raise(k, o) }
	return k
}

// edges returns which guests a rule reaches, if that is asked for. While it is enabled, the HA manager moves them: by a restart, if they cannot move while they run.
func edges(want kind.Want, _ kind.World) []edge.Edge {
	if !want.Reach {
		return nil
	}
	var list []edge.Edge
	for _, key := range []string{keyResources, keyMembers} {
		for _, id := range split(want.Text(key)) {
			_, vmid, _ := strings.Cut(id, ":")
			if n, err := strconv.Atoi(vmid); err == nil {
				list = append(list, edge.Edge{From: want.Key(), To: object.Guest(n), Why: edge.Reaches})
				if want.Text(keyDisable) == "" {
					list = append(list, edge.Edge{From: want.Key(), To: object.Guest(n), Why: edge.Forces})
				}
			}
		}
	}
	return list
}

// read lists the rules, or the groups of Proxmox VE 8, which does not know the rules. The lists need Sys.Audit on / and have all of them.
//
// Source: PVE API, GET /cluster/ha/rules.
func read(ctx context.Context, get kind.Get, ids []string) ([]cluster.Object, error) {
	list, err := rules.Read(ctx, get, observed)
	if strings.HasSuffix(kind.TextOf(err), "not implemented") {
		return readGroups(ctx, get)
	}
	return byFormerID(list, ids), err
}

// observed returns a rule or a group in canonical texts. Its order is Proxmox's own number, its errors are about other rules as well, and its digest is that of
// the file with all of them: a change of another one would be taken for one of this.
func observed(row kind.Row) cluster.Object {
	o := cluster.Object{ID: cmp.Or(row.Text(rules.ID), row.Text(groups.ID)), Keys: map[string]string{}}
	for name := range row {
		switch name {
		case rules.ID, groups.ID, "order", "digest", "errors":
			continue
		case keyResources:
			o.Keys[name] = listText(split(row.Text(name)))
		case keyNodes:
			o.Keys[name] = nodesText(split(row.Text(name)))
		case keyStrict, keyDisable, keyRestricted, keyNoFailback:
			if row.Text(name) == "1" {
				o.Keys[name] = "1"
			}
		default:
			o.Keys[name] = row.Text(name)
		}
		if o.Keys[name] == "" {
			delete(o.Keys, name)
		}
	}
	return o
}

// calls returns the one call of a change. It names what encode has to know of the live object: its type, which the change of a rule has to name as well, and
// its id in Proxmox if that is another one.
func calls(change kind.Change) []cluster.Call {
	call := change.Single(Name)
	call.Params = maps.Clone(call.Params)
	if call.Params == nil {
		call.Params = map[string]string{}
	}
	for _, key := range []string{keyType, keyRule} {
		if text := change.Got.Keys[key]; text != "" {
			call.Params[key] = text
		}
	}
	return []cluster.Call{call}
}

// encode returns the request of a call.
func encode(call cluster.Call) kind.Request {
	switch {
	case call.Item != "":
		return encodeMember(call)
	case call.Params[keyType] == typeGroup:
		return encodeGroup(call)
	case call.Params[keyRule] != "":
		call.Params = maps.Clone(call.Params)
		call.Object = call.Params[keyRule]
		delete(call.Params, keyRule)
	}
	return rules.Encode(call)
}
