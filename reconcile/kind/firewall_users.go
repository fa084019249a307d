package kind

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// FirewallUse returns which part of a firewall names the object with an id, "" if none does. Its methods look into all firewalls.
type FirewallUse func(seen *guest.FirewallSeen, id string) string

// UsedBy reads every firewall of the cluster, of its nodes, of its security groups and of its guests, and returns the first place that names an object, ""
// if none does. Last is what was found before: if it is a guest, this guest is read first, since it probably names the object still.
// Proxmox removes an object that rules name, and these rules lose their effect. Guests that the token cannot see are not read.
//
// Source: PVE API, GET …/firewall/rules, ipset, ipset/{name} and groups/{group}; GET /nodes and /cluster/resources.
func (use FirewallUse) UsedBy(ctx context.Context, get Get, id, last string) (string, error) {
	u := firewallUsers{get: get, names: func(seen *guest.FirewallSeen) string { return use(seen, id) }}
	if _, vmid, isGuest := strings.Cut(last, ofGuest); isGuest {
		u.guests(ctx, func(row Row) bool { return row.Text("vmid") == vmid })
	}
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
	u.guests(ctx, func(Row) bool { return true })
	return u.found, u.err
}

// ofGuest is between a user and the vmid of its guest.
const ofGuest = " of guest "

// guests looks for the object in the firewalls of some guests.
func (u *firewallUsers) guests(ctx context.Context, which func(Row) bool) {
	for _, row := range u.list(ctx, "/cluster/resources", "/cluster/resources?type=vm") {
		if !which(row) {
			continue
		}
		path := "/nodes/" + url.PathEscape(row.Text("node")) + "/" + url.PathEscape(row.Text("type")) + "/" + url.PathEscape(row.Text("vmid")) + "/firewall"
		const route = "/nodes/{node}/{kind}/{vmid}/firewall"
		owner := "guest " + row.Text("vmid")
		u.rules(ctx, owner, route+"/rules", path+"/rules")
		u.sets(ctx, owner, route, path)
	}
}

// KeptBy returns which guest has a firewall that names an object, "" if none has, as far as firewalls were read. UsedBy reads all of them.
func (use FirewallUse) KeptBy(id string, got cluster.Snapshot) string {
	for _, row := range got.Inventory.Rows {
		seen := got.Guests[row.VMID].Firewall
		if seen == nil {
			continue
		}
		if user := use(seen, id); user != "" {
			return fmt.Sprintf("%s of guest %d names it", user, row.VMID)
		}
	}
	return ""
}

// DatacenterFirewallPrivileges returns what the token needs for an object of the datacenter's firewall.
//
// Source: PVE API, permissions of the calls below /cluster/firewall.
func DatacenterFirewallPrivileges(d Desired) []guest.Need {
	return []guest.Need{
		{Path: "/", Privilege: "Sys.Audit", Key: "id", Origin: d.Origin},
		{Path: "/", Privilege: "Sys.Modify", Key: "id", Origin: d.Origin},
	}
}

// firewallUsers looks for what names an object. After the first find or error it reads nothing more.
type firewallUsers struct {
	get   Get
	names func(*guest.FirewallSeen) string
	found string
	err   error
}

func (u *firewallUsers) list(ctx context.Context, route, path string) []Row {
	if u.err != nil || u.found != "" {
		return nil
	}
	rows, err := ReadRows(ctx, u.get, route, path)
	u.err = err
	return rows
}

// rules looks for the object in the rules of a path.
func (u *firewallUsers) rules(ctx context.Context, owner, route, path string) {
	var seen guest.FirewallSeen
	for _, row := range u.list(ctx, route, path) {
		seen.Rules = append(seen.Rules, guest.FirewallRule{Type: row.Text("type"), Action: row.Text("action"), Source: row.Text("source"), Dest: row.Text("dest")})
	}
	u.look(&seen, owner)
}

// sets looks for the object in the sets of a firewall.
func (u *firewallUsers) sets(ctx context.Context, owner, route, path string) {
	for _, row := range u.list(ctx, route+"/ipset", path+"/ipset") {
		set := guest.FirewallSet{Name: row.Text("name")}
		for _, entry := range u.list(ctx, route+"/ipset/{name}", path+"/ipset/"+url.PathEscape(set.Name)) {
			set.Entries = append(set.Entries, guest.FirewallEntry{CIDR: strings.TrimSpace(entry.Text("cidr"))})
		}
		u.look(&guest.FirewallSeen{Sets: []guest.FirewallSet{set}}, owner)
	}
}

func (u *firewallUsers) look(seen *guest.FirewallSeen, owner string) {
	if user := u.names(seen); user != "" && u.found == "" && u.err == nil {
		u.found = user + " of " + owner
	}
}
