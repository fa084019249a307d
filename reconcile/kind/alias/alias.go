// Package alias describes the kind Alias: a name of the datacenter's firewall for an address or a network, which rules of every guest may use.
package alias

import (
	"context"
	"fmt"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// Name is the kind in manifests and labels.
const Name = kind.FirewallAliases

const (
	keyCIDR    = kind.KeyCIDR
	keyComment = "comment"
)

// aliases are the aliases in the API.
var aliases = kind.Collection{Path: "/cluster/firewall/aliases", ID: "name"}

// use is how firewalls use the objects.
var use = kind.FirewallUse{Kind: Name, Names: firewall.AliasUser, Nested: true}

// Kind returns the kind.
func Kind() *kind.Kind {
	return &kind.Kind{
		Name: Name, Noun: "alias", Plural: "aliases",
		Fields: []kind.Field{{
			Name: keyCIDR, Key: keyCIDR, Required: "an address or a network", Doc: "The address or the network. Rules that name the alias follow a change at once.",
			Form: kind.Text{Want: "an address or a network", Examples: []string{"10.0.0.0/24", "fd00::1"}, Pattern: `[0-9a-f.:]+(/[0-9]{1,3})?`, Max: 64},
		}},
		ID: kind.IDRule{
			Want: "a name of 2 to 64 lower-case letters, digits, - and _ that starts with a letter", Examples: []string{"office"}, Max: 64, Pattern: `[a-z][a-z0-9_-]+`,
		},
		Note:       kind.CommentRule{Key: keyComment},
		Lower:      checkNetwork,
		Reserved:   reserved,
		Read:       read,
		Encode:     encode,
		Calls:      calls,
		Edges:      use.Edges,
		Check:      use.Check,
		GuardKeys:  []string{keyCIDR},
		Weakens:    weakens,
		Privileges: kind.DatacenterFirewallPrivileges,
	}
}

// reserved protects the alias that Proxmox makes itself.
//
// Source: documentation of the firewall of PVE, "Standard IP alias local_network".
func reserved(id string) string {
	if id == "local_network" {
		return "Proxmox decides by this alias who reaches its own services"
	}
	return ""
}

// checkNetwork refuses an address in another form than the one in which it is compared.
func checkNetwork(spec kind.Spec, _ *kind.Desired) []kind.Problem {
	v := spec[keyCIDR]
	if guest.IsNetwork(v.Text) {
		return nil
	}
	p := kind.Problem{Field: keyCIDR, Origin: v.Origin, Message: fmt.Sprintf("got %q, want an address or a network without host bits", v.Text)}
	if stored := guest.StoredNetwork(v.Text); guest.IsNetwork(stored) {
		p.Hint = "did you mean " + stored + "?"
	}
	return []kind.Problem{p}
}

// read lists the aliases. The list needs Sys.Audit on / and has every alias.
//
// Source: PVE API, GET /cluster/firewall/aliases.
func read(ctx context.Context, get kind.Get, _ []string) ([]cluster.Object, error) {
	return aliases.Read(ctx, get, observed)
}

// observed returns an alias in canonical texts. Proxmox compares names without case, and keeps host bits that have no effect. The digest is that of all
// aliases: with it, a change of another alias would refuse the call.
func observed(row kind.Row) cluster.Object {
	o := cluster.Object{ID: strings.ToLower(row.Text("name")), Keys: map[string]string{keyCIDR: row.Text(keyCIDR)}}
	if stored := guest.StoredNetwork(o.Keys[keyCIDR]); stored != "" {
		o.Keys[keyCIDR] = stored
	}
	if comment := row.Text(keyComment); comment != "" {
		o.Keys[keyComment] = comment
	}
	return o
}

// calls returns the one call that makes a change. Proxmox wants the address in every change, and removes a comment that is not sent again.
func calls(c kind.Change) []cluster.Call {
	call := c.Single(Name)
	if c.Op == cluster.OpObjectSet {
		call.Params, call.Delete = c.After().Keys, nil
	}
	return []cluster.Call{call}
}

// encode returns the request of a call.
//
// Source: PVE API, POST /cluster/firewall/aliases, PUT and DELETE /cluster/firewall/aliases/{name}.
func encode(call cluster.Call) (kind.Request, error) {
	for key, text := range call.Params {
		if strings.ContainsAny(text, "\r\n") {
			return kind.Request{}, fmt.Errorf("%s contains a line break, which would begin another line of the firewall", key)
		}
	}
	return aliases.Encode(call), nil
}

// NeededBy returns the aliases without which Proxmox refuses a firewall.
func NeededBy(f *guest.FirewallWanted) []kind.Need {
	return kind.NeedsOf(Name, firewall.NeededAliases(f))
}
