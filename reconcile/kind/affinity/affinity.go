// Package affinity describes the kind AffinityRule: on which nodes the HA manager of Proxmox VE 9 runs guests, and which guests it keeps together or apart.
package affinity

import (
	"context"
	"errors"
	"maps"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// Name is the kind in manifests and labels.
const Name guest.Kind = "AffinityRule"

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
		Read:    read,
		Encode:  func(call cluster.Call) (kind.Request, error) { return rules.Encode(call), nil },
		Calls:   calls,
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

// errRelease is the error of a cluster of Proxmox VE 8, which has HA groups and no rules.
var errRelease = errors.New("affinity rules need Proxmox VE 9 on every node; Proxmox VE 8 has no rules of the HA manager")

// read lists the rules. The list needs Sys.Audit on / and has every rule.
//
// Source: PVE API, GET /cluster/ha/rules.
func read(ctx context.Context, get kind.Get, _ []string) ([]cluster.Object, error) {
	list, err := rules.Read(ctx, get, observed)
	if strings.HasSuffix(kind.TextOf(err), "not implemented") {
		return nil, errRelease
	}
	return list, err
}

// observed returns a rule in canonical texts. Its order is Proxmox's own number, its errors are about other rules as well, and its digest is that of the file
// with all rules: a change of another rule would be taken for one of this rule.
func observed(row kind.Row) cluster.Object {
	o := cluster.Object{ID: row.Text("rule"), Keys: map[string]string{}}
	for name := range row {
		switch name {
		case "rule", "order", "digest", "errors":
			continue
		case keyResources:
			o.Keys[name] = listText(strings.FieldsFunc(row.Text(name), isSeparator))
		case keyNodes:
			o.Keys[name] = nodesText(strings.FieldsFunc(row.Text(name), isSeparator))
		case keyStrict, keyDisable:
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

// calls returns the one call of a change. A call that changes a rule has to name the type that the rule has.
func calls(change kind.Change) []cluster.Call {
	call := change.Single(Name)
	if call.Op == cluster.OpObjectSet {
		call.Params = maps.Clone(call.Params)
		if call.Params == nil {
			call.Params = map[string]string{}
		}
		call.Params[keyType] = change.Got.Keys[keyType]
	}
	return []cluster.Call{call}
}
