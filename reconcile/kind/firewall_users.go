package kind

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/object"
)

// FirewallUse is how firewalls use the objects of a kind.
type FirewallUse struct {
	Kind   guest.Kind
	Names  func(seen *guest.FirewallSeen, id string) string // which part of a firewall names the object with an id, "" if none does
	Nested bool                                             // security groups and sets of the datacenter may name the object
}

// keeps returns the edge from the owner of a firewall to an object that the firewall names, and whether it names it.
func (use FirewallUse) keeps(seen *guest.FirewallSeen, by owner, id string) (edge.Edge, bool) {
	part := use.Names(seen, id)
	return edge.Edge{From: by.key, To: edge.Object(string(use.Kind), id), Why: edge.KeepsFromRemoval, Text: part + " of " + by.text + " names it"}, part != ""
}

// Edges returns what keeps an object that is to be removed, as far as firewalls were read: Check reads all of them. Without it, a person is asked to approve a removal that
// Check refuses. It also returns which guests with guarded firewalls guard the object.
func (use FirewallUse) Edges(want Want, world World) []edge.Edge {
	list := use.guards(want.ID, world)
	keeps := func(seen *guest.FirewallSeen, by owner) {
		if e, is := use.keeps(seen, by, want.ID); is {
			list = append(list, e)
		}
	}
	if want.Removed {
		for _, row := range world.Observed.Inventory.Rows {
			if seen := world.Observed.Guests[row.VMID].Firewall; seen != nil {
				keeps(seen, ownerGuest(row.VMID))
			}
		}
	}
	if want.Removed && use.Nested {
		groups, sets := world.Observed.Objects[FirewallGroups].ByID, world.Observed.Objects[FirewallSets].ByID
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			keeps(&guest.FirewallSeen{Rules: RulesOf(groups[name].Keys[KeyRules])}, ownerGroup(name))
		}
		for _, name := range slices.Sorted(maps.Keys(sets)) {
			keeps(&guest.FirewallSeen{Sets: []guest.FirewallSet{{Name: name, Entries: EntriesOf(sets[name].Keys[KeyEntries])}}}, owner{edge.Object(string(FirewallSets), name), datacenter})
		}
	}
	return list
}

// Check reads every firewall of the cluster, of its nodes, of its security groups and of its guests before an object is removed, and returns the first place that names it.
// If a guest named it the last time, this guest is read first. Proxmox removes an object that rules name, and these rules lose their effect. Guests that the token cannot
// see are not read.
//
// Source: PVE API, GET …/firewall/rules, ipset, ipset/{name} and groups/{group}; GET /nodes and /cluster/resources.
func (use FirewallUse) Check(ctx context.Context, read Reader, change Change) error {
	if change.Op != cluster.OpObjectRemove {
		return nil
	}
	u := firewallUsers{use: use, id: change.ID, get: read.Get}
	if read.First.VMID != 0 {
		u.guests(ctx, func(row Row) bool { return row.Text("vmid") == strconv.Itoa(read.First.VMID) })
	}
	const path = "/cluster/firewall"
	u.rules(ctx, owner{edge.Place(datacenter), datacenter}, path+"/rules", path+"/rules")
	u.sets(ctx, owner{edge.Place(datacenter), datacenter}, path, path)
	for _, row := range u.list(ctx, path+"/groups", path+"/groups") {
		group := row.Text("group")
		u.rules(ctx, ownerGroup(group), path+"/groups/{group}", path+"/groups/"+url.PathEscape(group))
	}
	for _, row := range u.list(ctx, "/nodes", "/nodes") {
		node := row.Text("node")
		u.rules(ctx, owner{edge.Place("the node " + node), "the node " + node}, "/nodes/{node}/firewall/rules", "/nodes/"+url.PathEscape(node)+"/firewall/rules")
	}
	u.guests(ctx, func(Row) bool { return true })
	return u.err
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

// owner is what a firewall belongs to, and its name in a sentence.
type owner struct {
	key  object.Key
	text string
}

const datacenter = "the datacenter"

func ownerGuest(vmid int) owner { return owner{object.Guest(vmid), "guest " + strconv.Itoa(vmid)} }

func ownerGroup(name string) owner {
	return owner{edge.Object(string(FirewallGroups), strings.ToLower(name)), "the security group " + name}
}

// firewallUsers looks for what names an object. After the first find, which is an error, or another error it reads nothing more.
type firewallUsers struct {
	use FirewallUse
	id  string
	get Get
	err error
}

func (u *firewallUsers) list(ctx context.Context, route, path string) []Row {
	if u.err != nil {
		return nil
	}
	rows, err := ReadRows(ctx, u.get, route, path)
	u.err = err
	return rows
}

// guests looks for the object in the firewalls of some guests.
func (u *firewallUsers) guests(ctx context.Context, which func(Row) bool) {
	for _, row := range u.list(ctx, "/cluster/resources", "/cluster/resources?type=vm") {
		if !which(row) {
			continue
		}
		vmid, _ := strconv.Atoi(row.Text("vmid"))
		path := "/nodes/" + url.PathEscape(row.Text("node")) + "/" + url.PathEscape(row.Text("type")) + "/" + url.PathEscape(row.Text("vmid")) + "/firewall"
		const route = "/nodes/{node}/{kind}/{vmid}/firewall"
		u.rules(ctx, ownerGuest(vmid), route+"/rules", path+"/rules")
		u.sets(ctx, ownerGuest(vmid), route, path)
	}
}

// rules looks for the object in the rules of a path.
func (u *firewallUsers) rules(ctx context.Context, by owner, route, path string) {
	var seen guest.FirewallSeen
	for _, row := range u.list(ctx, route, path) {
		seen.Rules = append(seen.Rules, guest.FirewallRule{Type: row.Text("type"), Action: row.Text("action"), Source: row.Text("source"), Dest: row.Text("dest")})
	}
	u.look(&seen, by)
}

// sets looks for the object in the sets of a firewall.
func (u *firewallUsers) sets(ctx context.Context, by owner, route, path string) {
	for _, row := range u.list(ctx, route+"/ipset", path+"/ipset") {
		set := guest.FirewallSet{Name: row.Text("name")}
		for _, entry := range u.list(ctx, route+"/ipset/{name}", path+"/ipset/"+url.PathEscape(set.Name)) {
			set.Entries = append(set.Entries, guest.FirewallEntry{CIDR: strings.TrimSpace(entry.Text("cidr"))})
		}
		u.look(&guest.FirewallSeen{Sets: []guest.FirewallSet{set}}, by)
	}
}

func (u *firewallUsers) look(seen *guest.FirewallSeen, by owner) {
	if e, is := u.use.keeps(seen, by, u.id); is && u.err == nil {
		u.err = &cluster.UsedError{By: e}
	}
}
