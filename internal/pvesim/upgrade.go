package pvesim

import (
	"maps"
	"slices"
	"strings"
)

// release is the release that all nodes run.
type release struct {
	version string // "9.2.11"
	major   int
}

func newRelease(version string) *release {
	n, _, _ := strings.Cut(version, ".")
	return &release{version, atoi(n)}
}

// major returns the major version of the cluster, 9 or 8.
func (s *Sim) major() int { return s.release.Load().major }

// Upgrade gives all nodes another release. From release 8 to 9, the HA manager does not migrate its groups yet: it needs a minute at least on a real cluster, and
// meanwhile the rules show what they will be, and none can be changed.
func (s *Sim) Upgrade(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release.Store(newRelease(version))
}

// MigrateGroups makes a rule of each HA group that a guest has, and forgets the others, as the HA manager of release 9 does once all nodes run it.
func (s *Sim) MigrateGroups() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.haRules = s.rulesWithGroups()
	for _, h := range s.ha {
		if g := s.haGroups[h.extra["group"]]; g["nofailback"] == "1" {
			h.extra["failback"] = "0"
		}
		delete(h.extra, "group")
	}
	s.haGroups = map[string]haGroup{}
}

// rulesWithGroups returns the rules with those that the groups become. The state is locked.
//
// Source: PVE::HA::Groups migrate_groups_to_rules.
func (s *Sim) rulesWithGroups() []*haRule {
	list := slices.Clone(s.haRules)
	for _, name := range slices.Sorted(maps.Keys(s.haGroups)) {
		members := s.haGroupMembers(name)
		if len(members) == 0 {
			continue
		}
		g := s.haGroups[name]
		v := canonicalHARule(values{"type": nodeAffinity, "nodes": g["nodes"], "resources": strings.Join(members, ","), "comment": g["comment"]})
		if g["comment"] == "" {
			v["comment"] = "Generated from HA group '" + name + "'."
		}
		if g["restricted"] != "" {
			v["strict"] = g["restricted"]
		}
		list = append(list, &haRule{name: "ha-group-" + name, values: v})
	}
	return list
}
