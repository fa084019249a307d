package alias

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// usedBy reads every firewall of the cluster, of its nodes and of its guests, and returns what names an alias. Proxmox removes an alias that rules name, and
// these rules lose their effect. Guests that the token cannot see are not read.
//
// Source: PVE API, GET …/firewall/rules, ipset, ipset/{name} and groups/{group}; GET /nodes and /cluster/resources.
func usedBy(ctx context.Context, get kind.Get, id string) (string, error) {
	u := users{get: get, id: id}
	const datacenter = "/cluster/firewall"
	u.rules(ctx, "the datacenter", datacenter+"/rules", datacenter+"/rules")
	u.sets(ctx, "the datacenter", datacenter, datacenter)
	for _, row := range u.list(ctx, datacenter+"/groups", datacenter+"/groups") {
		group := row.Text("group")
		u.rules(ctx, "the security group "+group, datacenter+"/groups/{group}", datacenter+"/groups/"+url.PathEscape(group))
	}
	for _, row := range u.list(ctx, "/nodes", "/nodes") {
		node := row.Text("node")
		u.rules(ctx, "the node "+node, "/nodes/{node}/firewall/rules", "/nodes/"+url.PathEscape(node)+"/firewall/rules")
	}
	for _, row := range u.list(ctx, "/cluster/resources", "/cluster/resources?type=vm") {
		path := "/nodes/" + url.PathEscape(row.Text("node")) + "/" + url.PathEscape(row.Text("type")) + "/" + url.PathEscape(row.Text("vmid")) + "/firewall"
		const route = "/nodes/{node}/{kind}/{vmid}/firewall"
		owner := "guest " + row.Text("vmid")
		u.rules(ctx, owner, route+"/rules", path+"/rules")
		u.sets(ctx, owner, route, path)
	}
	return u.found, u.err
}

// users collects what names an alias. After the first find or error it reads nothing more.
type users struct {
	get   kind.Get
	id    string
	found string
	err   error
}

func (u *users) list(ctx context.Context, route, path string) []kind.Row {
	if u.err != nil || u.found != "" {
		return nil
	}
	rows, err := kind.ReadRows(ctx, u.get, route, path)
	u.err = err
	return rows
}

// rules looks for the alias in the rules of a path.
func (u *users) rules(ctx context.Context, owner, route, path string) {
	var seen guest.FirewallSeen
	for _, row := range u.list(ctx, route, path) {
		seen.Rules = append(seen.Rules, guest.FirewallRule{Source: row.Text("source"), Dest: row.Text("dest")})
	}
	u.look(&seen, owner)
}

// sets looks for the alias in the sets of a firewall.
func (u *users) sets(ctx context.Context, owner, route, path string) {
	for _, row := range u.list(ctx, route+"/ipset", path+"/ipset") {
		set := guest.FirewallSet{Name: row.Text("name")}
		for _, entry := range u.list(ctx, route+"/ipset/{name}", path+"/ipset/"+url.PathEscape(set.Name)) {
			set.Entries = append(set.Entries, guest.FirewallEntry{CIDR: strings.TrimSpace(entry.Text("cidr"))})
		}
		u.look(&guest.FirewallSeen{Sets: []guest.FirewallSet{set}}, owner)
	}
}

func (u *users) look(seen *guest.FirewallSeen, owner string) {
	if user := firewall.AliasUser(seen, u.id); user != "" && u.found == "" && u.err == nil {
		u.found = fmt.Sprintf("%s of %s", user, owner)
	}
}
