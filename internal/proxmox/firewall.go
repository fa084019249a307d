package proxmox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Firewall reads the firewall of a guest: two calls, and with names two more and one for each set. It needs VM.Audit on the guest. Proxmox answers for a
// vmid that no guest has, too.
//
// Source: PVE API, GET /nodes/{node}/{kind}/{vmid}/firewall/options, rules, aliases, ipset, ipset/{name}.
func (r *Reader) Firewall(ctx context.Context, row cluster.Row, names bool) (guest.FirewallSeen, error) {
	about := addressOf(row)
	if err := about.check(); err != nil {
		return guest.FirewallSeen{}, fmt.Errorf("read firewall: %w", err)
	}
	seen := guest.FirewallSeen{ReadAt: time.Now(), Named: names}
	err := r.readOptions(ctx, about, &seen)
	if err == nil {
		err = r.readRules(ctx, about, &seen)
	}
	if err == nil && names {
		err = r.readNames(ctx, about, &seen)
	}
	if err != nil {
		return guest.FirewallSeen{}, fmt.Errorf("read firewall of %s: %w", about, err)
	}
	return seen, nil
}

// FirewallEnabled reads the option enable of the datacenter's firewall. It needs Sys.Audit on /.
//
// Source: PVE API, GET /cluster/firewall/options.
func (r *Reader) FirewallEnabled(ctx context.Context) (bool, error) {
	options, err := get[map[string]reply.Scalar](ctx, r, &exchange{route: routeDatacenterFirewall, path: "/cluster/firewall/options"})
	if err != nil {
		return false, fmt.Errorf("read the firewall of the datacenter: %w", err)
	}
	return options["enable"].Flag(), nil
}

// firewallExchange returns the exchange of a call below a guest's firewall.
func firewallExchange(about address, path string) *exchange {
	return &exchange{route: routeFirewall, path: about.path() + "/firewall/" + path, node: about.node, about: about}
}

func (r *Reader) readOptions(ctx context.Context, about address, seen *guest.FirewallSeen) error {
	options, err := get[map[string]reply.Scalar](ctx, r, firewallExchange(about, "options"))
	if err != nil {
		return err
	}
	seen.Options = make(map[string]string, len(options))
	for key, value := range options {
		seen.Options[key] = string(value)
	}
	seen.OptionsDigest = seen.Options["digest"]
	delete(seen.Options, "digest")
	return nil
}

// rawRule is a rule by key. Its position is a number, its errors are an object.
type rawRule map[string]reply.Scalar

func (r *Reader) readRules(ctx context.Context, about address, seen *guest.FirewallSeen) error {
	rules, err := get[[]rawRule](ctx, r, firewallExchange(about, "rules"))
	if err != nil {
		return err
	}
	for pos, raw := range rules {
		if string(raw["pos"]) != strconv.Itoa(pos) {
			return fmt.Errorf("rule %d has the position %q", pos, string(raw["pos"]))
		}
		for _, problem := range problemsOf(raw) {
			seen.RuleErrors = append(seen.RuleErrors, fmt.Sprintf("rule %d: %s", pos, problem))
		}
		params := make(map[string]string, len(raw))
		for key, value := range raw {
			params[key] = string(value)
		}
		seen.Rules = append(seen.Rules, guest.RuleOf(params))
		seen.RulesDigest = params["digest"]
	}
	return nil
}

// problemsOf returns what Proxmox finds wrong with a rule. Such a rule has no effect.
func problemsOf(raw rawRule) []string {
	var errs map[string]string
	if raw["errors"] == "" || json.Unmarshal([]byte(raw["errors"]), &errs) != nil {
		return nil
	}
	return slices.Sorted(maps.Values(errs))
}

func (r *Reader) readNames(ctx context.Context, about address, seen *guest.FirewallSeen) error {
	aliases, err := get[[]rawRule](ctx, r, firewallExchange(about, "aliases"))
	if err != nil {
		return err
	}
	for _, raw := range aliases {
		seen.Aliases = append(seen.Aliases, guest.FirewallAlias{Name: string(raw["name"]), CIDR: string(raw["cidr"]), Comment: string(raw["comment"])})
		seen.AliasesDigest = string(raw["digest"])
	}
	slices.SortFunc(seen.Aliases, func(a, b guest.FirewallAlias) int { return strings.Compare(a.Name, b.Name) })
	sets, err := get[[]rawRule](ctx, r, firewallExchange(about, "ipset"))
	if err != nil {
		return err
	}
	for _, raw := range sets {
		seen.SetsDigest = string(raw["digest"])
		set, err := r.readSet(ctx, about, guest.FirewallSet{Name: string(raw["name"]), Comment: string(raw["comment"])})
		if err != nil {
			return err
		}
		seen.Sets = append(seen.Sets, set)
	}
	slices.SortFunc(seen.Sets, func(a, b guest.FirewallSet) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

func (r *Reader) readSet(ctx context.Context, about address, set guest.FirewallSet) (guest.FirewallSet, error) {
	entries, err := get[[]rawRule](ctx, r, firewallExchange(about, "ipset/"+url.PathEscape(set.Name)))
	if err != nil {
		return set, err
	}
	for _, raw := range entries {
		set.Entries = append(set.Entries, guest.FirewallEntry{CIDR: string(raw["cidr"]), NoMatch: raw["nomatch"].Flag(), Comment: string(raw["comment"])})
		set.Digest = string(raw["digest"])
	}
	slices.SortFunc(set.Entries, func(a, b guest.FirewallEntry) int { return strings.Compare(a.CIDR, b.CIDR) })
	return set, nil
}

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
func encodeFirewall(call cluster.Call, x *exchange, params map[string]string) {
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
	sendFirewall(call, x, params, method, routeFirewall, x.about.path()+"/firewall/"+path)
}

// encodeItem sets method and path of a call about a rule or an entry of an object. List is the path of the list that has the item.
func encodeItem(call cluster.Call, x *exchange, params map[string]string, route, list string) {
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
func sendFirewall(call cluster.Call, x *exchange, params map[string]string, method, route, path string) {
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
	x.to(method, route, path)
}
