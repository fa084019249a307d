// Package securitygroup describes the kind SecurityGroup: a list of rules of the datacenter's firewall, which a rule of every guest may use by its name.
package securitygroup

import (
	"context"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// Name is the kind in manifests and labels.
const Name = kind.FirewallGroups

const (
	keyRules   = kind.KeyRules
	keyComment = "comment"
)

// groups are the security groups in the API.
var groups = kind.Collection{Path: "/cluster/firewall/groups", ID: "group"}

// use is how firewalls use the objects.
var use = kind.FirewallUse{Kind: Name, Names: firewall.GroupUser}

// Kind returns the kind.
func Kind() *kind.Kind {
	return &kind.Kind{
		Name: Name, Noun: "security group", Plural: "security groups",
		Fields: []kind.Field{
			{
				Name: keyRules, Doc: "The rules in order: the first one that matches decides. Without keepOthers there are no others. Guests use them by a rule with group.",
				Form: kind.Items{Fields: ruleFields()},
			},
			{Name: fieldKeepOthers, Doc: "Rules that the manifest does not mention stay. Default: false.", Form: kind.Flag{}},
		},
		ID: kind.IDRule{
			Want: "a name of 2 to 18 lower-case letters, digits, - and _ that starts with a letter", Examples: []string{"web"}, Max: 18, Pattern: `[a-z][a-z0-9_-]+`,
		},
		Note:       kind.CommentRule{Key: keyComment},
		Lower:      lower,
		Read:       read,
		AsksEach:   true,
		Encode:     encode,
		Calls:      kind.CallsWithoutDigest(Name),
		Content:    &kind.Content{Key: keyRules, Changes: changes, Next: next, Final: final, Empty: empty},
		Edges:      use.Edges,
		Check:      use.Check,
		GuardKeys:  []string{keyRules},
		Weakens:    weakens,
		Privileges: kind.DatacenterFirewallPrivileges,
		Raise:      raise,
	}
}

// read lists the groups, and reads the rules of those of ids, or of all. The list is open to every token; the rules need Sys.Audit on /.
//
// Source: PVE API, GET /cluster/firewall/groups and /cluster/firewall/groups/{group}.
func read(ctx context.Context, get kind.Get, ids []string) ([]cluster.Object, error) {
	return groups.ReadEach(ctx, get, ids, keyComment, func(o *cluster.Object, rows []kind.Row) (err error) {
		o.Keys[keyRules], o.Digest, err = observed(rows)
		return err
	})
}

// encode returns the request of a call. A comment is changed by the call that makes a group.
//
// Source: PVE API, POST /cluster/firewall/groups, DELETE /cluster/firewall/groups/{group}.
func encode(call cluster.Call) (kind.Request, error) {
	if call.IsAboutItem() {
		route, path := groups.Item(call.Object)
		return kind.Request{Route: route, Path: path}, nil
	}
	return groups.EncodeRenaming(call)
}

// NeededBy returns the groups that the firewall of a guest names. Proxmox accepts a rule with an unknown group, which has no effect.
func NeededBy(f *guest.FirewallWanted) []kind.Need {
	return kind.NeedsOf(Name, firewall.NeededGroups(f))
}
