package encode

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
)

// firewallKeys are the parameters that calls on an object of a firewall take.
var firewallKeys = map[cluster.FirewallObject][]string{
	cluster.FirewallOptions: {
		"enable", "dhcp", "ndp", "radv", "ipfilter", "macfilter", "policy_in", "policy_out", "log_level_in", "log_level_out",
	},
	cluster.FirewallRule: {
		"type", "action", "macro", "iface", "source", "dest", "proto", "sport", "dport", "icmp-type", "log", "comment", "enable",
	},
	cluster.FirewallAlias: {"cidr", "comment"},
	cluster.FirewallIPSet: {"comment"},
	cluster.FirewallEntry: {"nomatch", "comment"},
}

// checkFirewall rejects a call that Proxmox would carry out otherwise than meant. A line break in a comment would end the comment and begin a rule.
func checkFirewall(call cluster.Call) error {
	f := call.Firewall
	keys, known := firewallKeys[f.Object]
	if !known {
		return fmt.Errorf("%q is no object of a firewall", string(f.Object))
	}
	for _, key := range slices.Concat(slices.Collect(maps.Keys(call.Params)), call.Delete) {
		if !slices.Contains(keys, key) {
			return fmt.Errorf("parameter %s is not allowed here", key)
		}
	}
	for key, value := range call.Params {
		if strings.ContainsAny(value, "\r\n") {
			return fmt.Errorf("%s contains a line break", key)
		}
	}
	switch {
	case f.Object == cluster.FirewallRule && f.Verb == cluster.FirewallAdd && call.Params["enable"] != "0":
		return errors.New("a rule is added without effect, since its position cannot be chosen")
	case f.Pos < 0 || f.To < 0:
		return fmt.Errorf("position %d or %d is negative", f.Pos, f.To)
	case (f.Object == cluster.FirewallAlias || f.Object == cluster.FirewallIPSet || f.Object == cluster.FirewallEntry) && f.Name == "":
		return fmt.Errorf("%s of a firewall needs a name", f.Object)
	case f.Object == cluster.FirewallEntry && f.CIDR == "":
		return errors.New("an entry of a set needs an address")
	case f.Verb == cluster.FirewallMove && (f.Object != cluster.FirewallRule || len(call.Params)+len(call.Delete) > 0):
		return errors.New("a move is of a rule, and changes nothing else")
	}
	return nil
}

// encodeFirewall sets method and path, and moves what names the object to where Proxmox wants it.
//
// Source: PVE API, PUT …/firewall/options; POST …/rules, PUT and DELETE …/rules/{pos}; POST …/aliases and …/ipset, PUT and DELETE below them.
func encodeFirewall(call cluster.Call, x *wire.Exchange, params map[string]string) {
	f := call.Firewall
	path, method := "options", http.MethodPut
	switch f.Object {
	case cluster.FirewallOptions:
	case cluster.FirewallRule:
		path = "rules" + belowList(f, params)
	case cluster.FirewallAlias:
		path = "aliases"
		if f.Verb == cluster.FirewallAdd {
			params["name"] = f.Name
		} else {
			path += "/" + url.PathEscape(f.Name)
		}
	case cluster.FirewallIPSet:
		path = "ipset/" + url.PathEscape(f.Name)
		if f.Verb != cluster.FirewallDelete { // a set is changed by the call that creates it
			path, params["name"] = "ipset", f.Name
		}
		if f.Verb == cluster.FirewallSet {
			params["rename"] = f.Name
			method = http.MethodPost
		}
	case cluster.FirewallEntry:
		path = "ipset/" + url.PathEscape(f.Name) + belowList(f, params)
	}
	sendFirewall(call, x, params, method, route.Firewall, x.About.Path()+"/firewall/"+path)
}

// encodeItem sets method and path of a call about a rule or an entry of an object. List is the path of the list that has the item.
func encodeItem(call cluster.Call, x *wire.Exchange, params map[string]string, route, list string) {
	if call.Firewall.Verb != cluster.FirewallAdd {
		route += "/{item}"
	}
	sendFirewall(call, x, params, http.MethodPut, route, list+belowList(call.Firewall, params))
}

// belowList returns the path of a rule or an entry below its list. A new one is named by its parameters.
func belowList(f cluster.FirewallCall, params map[string]string) string {
	switch {
	case f.Object == cluster.FirewallEntry && f.Verb == cluster.FirewallAdd:
		params["cidr"] = f.CIDR
		return ""
	case f.Object == cluster.FirewallEntry:
		return "/" + url.PathEscape(f.CIDR)
	case f.Verb == cluster.FirewallAdd:
		return ""
	}
	return "/" + strconv.Itoa(f.Pos)
}

// sendFirewall sets method and path, and the parameters that every call of a firewall has. Method is that of a change.
func sendFirewall(call cluster.Call, x *wire.Exchange, params map[string]string, method, route, path string) {
	switch call.Firewall.Verb {
	case cluster.FirewallAdd:
		method = http.MethodPost
	case cluster.FirewallDelete:
		method = http.MethodDelete
	case cluster.FirewallMove:
		params["moveto"] = strconv.Itoa(call.Firewall.To)
	case cluster.FirewallSet:
	}
	if len(call.Delete) > 0 {
		params["delete"] = strings.Join(call.Delete, ",")
	}
	if call.Digest != "" {
		params["digest"] = call.Digest
	}
	if method == http.MethodDelete { // Proxmox rejects a body
		path += query(params)
		clear(params)
	}
	x.To(method, route, path)
}
