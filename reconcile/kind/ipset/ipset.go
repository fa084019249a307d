// Package ipset describes the kind IPSet: a set of addresses of the datacenter's firewall, which rules of every guest may name.
package ipset

import (
	"context"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// Name is the kind in manifests and labels.
const Name = kind.FirewallSets

const (
	keyEntries = kind.KeyEntries
	keyComment = "comment"
)

// sets are the sets in the API.
var sets = kind.Collection{Path: "/cluster/firewall/ipset", ID: "name"}

// use is how firewalls use the objects.
var use = kind.FirewallUse{Kind: Name, Names: firewall.SetUser, Nested: true}

// Kind returns the kind.
func Kind() *kind.Kind {
	return &kind.Kind{
		Name: Name, Noun: "IP set", Plural: "IP sets",
		Fields: []kind.Field{
			{Name: keyEntries, Doc: "The addresses. Without keepOthers there are no others. Rules name the set with a plus sign, and follow a change at once.", Form: kind.Items{Fields: entryFields(), Most: maxEntries}},
			{Name: fieldKeepOthers, Doc: "Entries that the manifest does not mention stay. Default: false.", Form: kind.Flag{}},
		},
		ID: kind.IDRule{
			Want: "a name of 2 to 64 lower-case letters, digits, - and _ that starts with a letter", Examples: []string{"admins"}, Max: 64, Pattern: `[a-z][a-z0-9_-]+`,
		},
		Note:       kind.CommentRule{Key: keyComment},
		Lower:      lower,
		Reserved:   reserved,
		Read:       read,
		AsksEach:   true,
		Encode:     encode,
		Calls:      kind.CallsWithoutDigest(Name),
		Content:    &kind.Content{Key: keyEntries, Changes: changes, Next: next, Final: final, Unsafe: whyUnsafe},
		Edges:      use.Edges,
		Check:      use.Check,
		GuardKeys:  []string{keyEntries},
		Weakens:    weakens,
		Privileges: kind.DatacenterFirewallPrivileges,
		Raise:      raise,
	}
}

// reserved protects the sets that Proxmox itself uses, without a rule that names them.
//
// Source: documentation of the firewall of PVE, "Standard IP set management" and "Standard IP set blacklist".
func reserved(id string) string {
	switch id {
	case "management":
		return "Proxmox decides by this set who reaches its own services"
	case "blacklist":
		return "Proxmox drops what comes from this set at every node and every guest"
	}
	return ""
}

// read lists the sets, and reads the entries of those of ids, or of all. Both need Sys.Audit on /.
//
// Source: PVE API, GET /cluster/firewall/ipset and /cluster/firewall/ipset/{name}.
func read(ctx context.Context, get kind.Get, ids []string) ([]cluster.Object, error) {
	return sets.ReadEach(ctx, get, ids, keyComment, func(o *cluster.Object, rows []kind.Row) error {
		o.Keys[keyEntries], o.Digest = observed(rows)
		return nil
	})
}

// encode returns the request of a call. A comment is changed by the call that makes a set. The removal takes the entries along.
//
// Source: PVE API, POST /cluster/firewall/ipset, DELETE /cluster/firewall/ipset/{name}.
func encode(call cluster.Call) (kind.Request, error) {
	if call.IsAboutItem() {
		route, path := sets.Item(call.Object)
		return kind.Request{Route: route, Path: path}, nil
	}
	r, err := sets.EncodeRenaming(call)
	if err == nil && call.Op == cluster.OpObjectRemove {
		r.Params["force"] = "1"
	}
	return r, err
}

// NeededBy returns the sets without which Proxmox refuses a firewall.
func NeededBy(f *guest.FirewallWanted) []kind.Need {
	return kind.NeedsOf(Name, firewall.NeededSets(f))
}
