package pvesim

import (
	"maps"
	"slices"
	"strings"
)

// Config returns the text of a guest's config file, or "" if the guest does not exist.
func (s *Sim) Config(vmid int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.guests[vmid]; g != nil {
		return g.text
	}
	return ""
}

// Value returns the current value of a key in a guest's config, or "".
func (s *Sim) Value(vmid int, key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.guests[vmid]; g != nil {
		return g.conf.Values[key]
	}
	return ""
}

// Digest returns the digest of a guest's config file, or "" if the guest does not exist.
func (s *Sim) Digest(vmid int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.guests[vmid]; g != nil {
		return g.digest
	}
	return ""
}

// Running reports whether the guest exists and runs.
func (s *Sim) Running(vmid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.guests[vmid]
	return g != nil && g.running
}

// GuestInfo is a summary of one guest.
type GuestInfo struct {
	VMID     int    `json:"vmid"`
	Kind     Kind   `json:"kind"`
	Node     string `json:"node"`
	Name     string `json:"name"`
	Running  bool   `json:"running"`
	Template bool   `json:"template"`
	Lock     string `json:"lock,omitempty"`
	Tags     string `json:"tags,omitempty"`
	Pool     string `json:"pool,omitempty"`
	Pending  bool   `json:"pending"` // some changes wait for the next start
}

// Guests returns all guests, sorted by vmid.
func (s *Sim) Guests() []GuestInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]GuestInfo, 0, len(s.guests))
	for _, id := range s.vmids() {
		g := s.guests[id]
		out = append(out, GuestInfo{
			VMID: id, Kind: g.kind, Node: g.node, Name: g.name(), Running: g.running, Template: g.isTemplate(),
			Lock: g.conf.Values["lock"], Tags: g.conf.Values["tags"], Pool: s.poolOf(id), Pending: g.conf.HasPending(),
		})
	}
	return out
}

// Volumes returns the volumes of all storages, sorted by id.
func (s *Sim) Volumes() []Volume {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Volume
	for _, st := range s.storages {
		for _, v := range st.volumes {
			out = append(out, *v)
		}
	}
	slices.SortFunc(out, func(a, b Volume) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// TaskInfo is a summary of one task.
type TaskInfo struct {
	UPID   string   `json:"upid"`
	Type   string   `json:"type"`
	VMID   int      `json:"vmid"`
	Exit   string   `json:"exit"` // "" while running
	Log    []string `json:"log"`
	Active bool     `json:"active"`
}

// Tasks returns all tasks, oldest first.
func (s *Sim) Tasks() []TaskInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]TaskInfo, 0, len(s.tasks))
	for _, t := range s.tasks {
		out = append(out, TaskInfo{
			UPID: t.name, Type: t.upid.typ, VMID: t.vmid, Exit: t.exit, Log: slices.Clone(t.log), Active: t.ended.IsZero(),
		})
	}
	return out
}

// BackupJob returns the keys of a backup job, nil if there is none.
func (s *Sim) BackupJob(id string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.backupJob(id)
	if j == nil {
		return nil
	}
	return maps.Clone(j.values)
}

// Group returns the comment of a security group and its rules, without digests, and whether it exists.
func (s *Sim) Group(name string) (comment string, rules []map[string]string, exists bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.firewallOf(clusterFirewall).groups[name]
	if g == nil {
		return "", nil, false
	}
	for _, r := range g.rules {
		rules = append(rules, maps.Clone(r))
	}
	return g.comment, rules, true
}

// IPSet returns the comment of a set of the datacenter's firewall and its entries, sorted by address, and whether it exists.
func (s *Sim) IPSet(name string) (comment string, entries []map[string]string, exists bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.firewallOf(clusterFirewall).ipsets[name]
	if set == nil {
		return "", nil, false
	}
	for _, e := range set.entryList() {
		entries = append(entries, maps.Clone(e))
	}
	return set.comment, entries, true
}

// Alias returns the values of an alias of the datacenter's firewall, nil if there is none.
func (s *Sim) Alias(name string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.firewallOf(clusterFirewall).aliases[strings.ToLower(name)])
}

// HAState returns the state of a guest that the HA manager shows, "" if it does not manage the guest or has not read its entry.
func (s *Sim) HAState(vmid int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.services[vmid]; v != nil {
		return v.state
	}
	if h := s.ha[vmid]; h != nil && h.wish() == haIgnored {
		return haIgnored
	}
	return ""
}

// HARule returns the keys of a rule of the HA manager, nil if there is none.
func (s *Sim) HARule(name string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.haRule(name)
	if r == nil {
		return nil
	}
	return maps.Clone(r.values)
}

// HAGroup returns the keys of a group of the HA manager of release 8, and the guests that have it, such as "ct:201,vm:202". Both are empty if there is none.
func (s *Sim) HAGroup(name string) (group map[string]string, members string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.haGroups[name] == nil {
		return nil, ""
	}
	return maps.Clone(s.haGroups[name]), strings.Join(s.haGroupMembers(name), ",")
}

// PoolComment returns the comment of a pool, and whether the pool exists.
func (s *Sim) PoolComment(id string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pools[id]
	if p == nil {
		return "", false
	}
	return p.comment, true
}
