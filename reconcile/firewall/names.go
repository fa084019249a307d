package firewall

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

func aliasCall(verb cluster.FirewallVerb, a guest.FirewallAlias, digest string) cluster.Call {
	call := cluster.Call{Firewall: cluster.FirewallCall{Verb: verb, Object: cluster.FirewallAlias, Name: a.Name}, Digest: digest}
	if verb != cluster.FirewallDelete {
		call.Params = withComment(map[string]string{"cidr": a.CIDR}, a.Comment)
	}
	return call
}

func entryCall(verb cluster.FirewallVerb, set string, e guest.FirewallEntry, digest string) cluster.Call {
	call := cluster.Call{Firewall: cluster.FirewallCall{Verb: verb, Object: cluster.FirewallEntry, Name: set, CIDR: e.CIDR}, Digest: digest}
	if verb == cluster.FirewallDelete {
		return call
	}
	call.Params = withComment(map[string]string{}, e.Comment)
	if e.NoMatch {
		call.Params["nomatch"] = "1"
	}
	return call
}

func setCall(verb cluster.FirewallVerb, set guest.FirewallSet, digest string) cluster.Call {
	call := cluster.Call{Firewall: cluster.FirewallCall{Verb: verb, Object: cluster.FirewallIPSet, Name: set.Name}, Digest: digest}
	if verb != cluster.FirewallDelete {
		call.Params = withComment(map[string]string{}, set.Comment)
	}
	return call
}

func withComment(params map[string]string, comment string) map[string]string {
	if comment != "" {
		params["comment"] = comment
	}
	return params
}

func findAlias(list []guest.FirewallAlias, name string) (guest.FirewallAlias, bool) {
	i := slices.IndexFunc(list, func(a guest.FirewallAlias) bool { return strings.EqualFold(a.Name, name) })
	if i < 0 {
		return guest.FirewallAlias{}, false
	}
	return list[i], true
}

func findSet(list []guest.FirewallSet, name string) (guest.FirewallSet, bool) {
	i := slices.IndexFunc(list, func(s guest.FirewallSet) bool { return s.Name == name })
	if i < 0 {
		return guest.FirewallSet{}, false
	}
	return list[i], true
}

// defineNames makes the wanted aliases and sets what they shall be.
func (s *sequence) defineNames() (cluster.Call, bool) {
	for _, a := range s.want.Aliases {
		switch live, exists := findAlias(s.seen.Aliases, a.Name); {
		case !exists:
			return aliasCall(cluster.FirewallAdd, a, ""), true
		case live.CIDR != a.CIDR || live.Comment != a.Comment:
			return aliasCall(cluster.FirewallSet, a, s.seen.AliasesDigest), true
		}
	}
	for _, set := range s.want.Sets {
		live, exists := findSet(s.seen.Sets, set.Name)
		switch {
		case !exists:
			return setCall(cluster.FirewallAdd, set, ""), true
		case set.Comment != "" && live.Comment != set.Comment: // Proxmox has no call that removes the comment of a set
			return setCall(cluster.FirewallSet, set, s.seen.SetsDigest), true
		}
		if call, found := NextEntry(set, live, false); found {
			return call, true
		}
	}
	return cluster.Call{}, false
}

// dropNames removes aliases and sets that the manifest does not mention. No rule in effect uses them any more. A set is emptied first.
func (s *sequence) dropNames() (cluster.Call, bool) {
	if s.want.KeepOthers {
		return cluster.Call{}, false
	}
	for _, live := range s.seen.Sets {
		if _, wanted := findSet(s.want.Sets, live.Name); wanted || s.want.Sets == nil {
			continue
		}
		if len(live.Entries) > 0 {
			return entryCall(cluster.FirewallDelete, live.Name, live.Entries[0], live.Digest), true
		}
		return setCall(cluster.FirewallDelete, live, ""), true
	}
	for _, live := range s.seen.Aliases {
		if _, wanted := findAlias(s.want.Aliases, live.Name); !wanted && s.want.Aliases != nil {
			return aliasCall(cluster.FirewallDelete, live, s.seen.AliasesDigest), true
		}
	}
	return cluster.Call{}, false
}
