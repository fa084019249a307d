package status

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/internal/status/words"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/report"
)

// defaultTargetPort is that of Prometheus' node exporter.
const defaultTargetPort = 9100

// host is a guest that other tools reach.
type host struct {
	report.Guest

	name      string // unique among the hosts
	addresses []netip.Addr
}

// hosts returns the guests of the newest report. If it does not know all of them, it answers the request and returns false: an empty list would tell the other tools that every
// guest is gone, while they keep what they know after an error.
func (s *site) hosts(w http.ResponseWriter) ([]host, bool) {
	newest := s.opts.Report()
	if among := newest.Replica; among != nil && among.Role == report.RoleStandby {
		http.Error(w, "this agent is a standby, and only the leader knows the guests: ask "+cmp.Or(among.Leader, "the leader"), http.StatusServiceUnavailable)
		return nil, false
	}
	if newest.Source.Accepted == nil {
		http.Error(w, "the guests are not known: "+words.NoRevision(newest), http.StatusServiceUnavailable)
		return nil, false
	}
	addresses := s.opts.Addresses()
	var list []host
	for _, g := range newest.Guests {
		if g.Kind.IsGuest() && g.Name != "" {
			list = append(list, host{g, g.Name, addresses(g)})
		}
	}
	widen(list, func(h host) string {
		return map[guest.Kind]string{guest.VirtualMachine: "vm", guest.Container: "ct"}[h.Kind]
	})
	widen(list, func(h host) string { return strconv.Itoa(h.VMID) })
	return list, true
}

// widen makes the names unique that several hosts have, or that Ansible has for a group.
func widen(list []host, by func(host) string) {
	count := map[string]int{"all": 1, "ungrouped": 1}
	for _, h := range list {
		count[h.name]++
	}
	for i, h := range list {
		if count[h.name] > 1 {
			list[i].name += "-" + by(h)
		}
	}
}

// inventory is a dynamic inventory of Ansible: what a script prints for --list.
type inventory map[string]inventoryGroup

// inventoryGroup is a group, or what _meta has.
type inventoryGroup struct {
	Hosts    []string                  `json:"hosts,omitempty"`
	Children []string                  `json:"children,omitempty"`
	HostVars map[string]map[string]any `json:"hostvars,omitempty"`
}

// serveInventory writes the guests as a dynamic inventory for Ansible. All names of groups have an underscore, which no guest's name has: Ansible gives the variables of a host to
// a group of the same name.
func (s *site) serveInventory(w http.ResponseWriter, r *http.Request) {
	list, known := s.hosts(w)
	if !known {
		return
	}
	vars := make(map[string]map[string]any, len(list))
	groups := inventory{}
	for _, h := range list {
		v := map[string]any{
			"proxmox_vmid": h.VMID, "proxmox_node": h.Node, "proxmox_status": h.Status, "proxmox_tags": nonNil(h.Tags), "gitops_kind": h.Kind,
			"gitops_sync": h.Sync, "gitops_health": h.Health, "gitops_addresses": nonNil(h.addresses),
		}
		if len(h.addresses) > 0 {
			v["ansible_host"] = h.addresses[0]
		}
		vars[h.name] = v
		groups.add("kind_"+strings.ToLower(string(h.Kind)), h.name)
		groups.add("node_"+h.Node, h.name)
		groups.add("status_"+string(h.Status), h.name)
		for _, tag := range h.Tags {
			groups.add("tag_"+tag, h.name)
		}
	}
	var names []string
	for name := range groups {
		names = append(names, name)
	}
	slices.Sort(names)
	groups["all"] = inventoryGroup{Children: nonNil(names)}
	groups["_meta"] = inventoryGroup{HostVars: vars}
	s.sendDocument(w, r, renderJSON(groups))
}

// add makes a host a member of a group, whose name keeps the characters that Ansible accepts without a warning. A name that ends with its underscore is that of a value that is
// not known.
func (i inventory) add(name, host string) {
	if strings.HasSuffix(name, "_") {
		return
	}
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
	hosts := i[name].Hosts
	if len(hosts) > 0 && hosts[len(hosts)-1] == host {
		return // two tags, one name
	}
	i[name] = inventoryGroup{Hosts: append(hosts, host)}
}

// targetGroup is an item of Prometheus' service discovery by HTTP.
type targetGroup struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// serveTargets writes the guests that have a static address as targets of Prometheus, with the port that the request names.
func (s *site) serveTargets(w http.ResponseWriter, r *http.Request) {
	port := uint64(defaultTargetPort)
	if text := r.URL.Query().Get("port"); text != "" {
		var err error
		if port, err = strconv.ParseUint(text, 10, 16); err != nil || port == 0 {
			http.Error(w, "port: want a number from 1 to 65535, such as ?port=9100", http.StatusBadRequest)
			return
		}
	}
	list, known := s.hosts(w)
	if !known {
		return
	}
	groups := []targetGroup{}
	for _, h := range list {
		if len(h.addresses) == 0 {
			continue
		}
		groups = append(groups, targetGroup{
			Targets: []string{net.JoinHostPort(h.addresses[0].String(), strconv.FormatUint(port, 10))},
			Labels: map[string]string{
				"__meta_gitops_kind": string(h.Kind), "__meta_gitops_name": h.Name, "__meta_gitops_vmid": strconv.Itoa(h.VMID), "__meta_gitops_node": h.Node,
				"__meta_gitops_status": string(h.Status), "__meta_gitops_sync": string(h.Sync), "__meta_gitops_health": string(h.Health),
				"__meta_gitops_tags": "," + strings.Join(h.Tags, ",") + ",",
			},
		})
	}
	s.sendDocument(w, r, renderJSON(groups))
}

// nonNil returns the list, for JSON as [] instead of null.
func nonNil[T any](list []T) []T { return append([]T{}, list...) }
