package proxmox

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Firewall reads the firewall of a guest: two calls, and with names two more and one for each set. It needs VM.Audit on the guest. Proxmox answers for a
// vmid that no guest has, too.
//
// Source: PVE API, GET /nodes/{node}/{kind}/{vmid}/firewall/options, rules, aliases, ipset, ipset/{name}.
func (r *Reader) Firewall(ctx context.Context, row cluster.Row, names bool) (guest.FirewallSeen, error) {
	about := route.AddressOf(row)
	if err := about.Check(); err != nil {
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
	options, err := get[map[string]reply.Scalar](ctx, r, &wire.Exchange{Route: route.DatacenterFirewall, Path: "/cluster/firewall/options"})
	if err != nil {
		return false, fmt.Errorf("read the firewall of the datacenter: %w", err)
	}
	return options["enable"].Flag(), nil
}

// firewallExchange returns the exchange of a call below a guest's firewall.
func firewallExchange(about route.Address, path string) *wire.Exchange {
	return &wire.Exchange{Route: route.Firewall, Path: about.Path() + "/firewall/" + path, Node: about.Node, About: about}
}

func (r *Reader) readOptions(ctx context.Context, about route.Address, seen *guest.FirewallSeen) error {
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

func (r *Reader) readRules(ctx context.Context, about route.Address, seen *guest.FirewallSeen) error {
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

func (r *Reader) readNames(ctx context.Context, about route.Address, seen *guest.FirewallSeen) error {
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

func (r *Reader) readSet(ctx context.Context, about route.Address, set guest.FirewallSet) (guest.FirewallSet, error) {
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
