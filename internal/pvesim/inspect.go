package pvesim

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Op names an effect on a guest.
type Op string

// The effects that are counted, each when it happens and not when it was asked for.
const (
	Created         Op = "created"
	ConfigWritten   Op = "config-written" // the file changed through the API
	Started         Op = "started"
	Stopped         Op = "stopped"
	Destroyed       Op = "destroyed"
	Cloned          Op = "cloned" // counted for the new guest
	Resized         Op = "resized"
	Moved           Op = "moved"
	Templated       Op = "templated"
	Snapshotted     Op = "snapshotted"
	SnapshotDeleted Op = "snapshot-deleted"
	RolledBack      Op = "rolled-back"
)

// Counters say what was asked of the API and what came of it.
type Counters struct {
	Reads   int                `json:"reads"`   // calls with GET
	Writes  int                `json:"writes"`  // calls with any other method
	Routes  map[string]int     `json:"routes"`  // by "METHOD /path/{with}/variables"
	Effects map[int]map[Op]int `json:"effects"` // by vmid
	Freed   map[string]string  `json:"freed"`   // volume id to the reason
}

type counts struct {
	reads, writes int
	routes        map[string]int
	effects       map[int]map[Op]int
	freed         map[string]string
}

func newCounts() counts {
	return counts{routes: map[string]int{}, effects: map[int]map[Op]int{}, freed: map[string]string{}}
}

func (s *Sim) count(c *call) {
	name := c.method + " unknown"
	if c.route != nil {
		name = c.route.label
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.routes[name]++
	if c.method == http.MethodGet {
		s.counts.reads++
	} else {
		s.counts.writes++
	}
}

// effect counts something that happened. The state is locked.
func (s *Sim) effect(vmid int, op Op) {
	m := s.counts.effects[vmid]
	if m == nil {
		m = map[Op]int{}
		s.counts.effects[vmid] = m
	}
	m[op]++
}

// Counters returns a copy of all counts since New or ResetCounters.
func (s *Sim) Counters() Counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := Counters{
		Reads: s.counts.reads, Writes: s.counts.writes, Routes: maps.Clone(s.counts.routes), Freed: maps.Clone(s.counts.freed),
		Effects: map[int]map[Op]int{},
	}
	for id, m := range s.counts.effects {
		c.Effects[id] = maps.Clone(m)
	}
	return c
}

// ResetCounters starts counting from zero.
func (s *Sim) ResetCounters() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts = newCounts()
}

// Effects is how often an effect happened to a guest.
func (s *Sim) Effects(vmid int, op Op) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts.effects[vmid][op]
}

// Violations lists what must never happen and did: two writers on one guest, a volume freed for no reason.
func (s *Sim) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.broken)
}

// Config is the text of a guest's config file, or "" when there is none.
func (s *Sim) Config(vmid int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.guests[vmid]; g != nil {
		return g.text
	}
	return ""
}

// Value is one value of a guest's config as running now, or "".
func (s *Sim) Value(vmid int, key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.guests[vmid]; g != nil {
		return g.conf.values[key]
	}
	return ""
}

// Digest is the digest of a guest's config file, or "".
func (s *Sim) Digest(vmid int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.guests[vmid]; g != nil {
		return g.digest
	}
	return ""
}

// Running says whether the guest exists and runs.
func (s *Sim) Running(vmid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.guests[vmid]
	return g != nil && g.running
}

// GuestInfo is one guest as seen from outside.
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
	Pending  bool   `json:"pending"` // changes wait for the next start
}

// Guests lists all guests by vmid.
func (s *Sim) Guests() []GuestInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]GuestInfo, 0, len(s.guests))
	for _, id := range s.vmids() {
		g := s.guests[id]
		out = append(out, GuestInfo{
			VMID: id, Kind: g.kind, Node: g.node, Name: g.name(), Running: g.running, Template: g.isTemplate(),
			Lock: g.conf.values["lock"], Tags: g.conf.values["tags"], Pool: s.poolOf(id), Pending: g.conf.hasPending(),
		})
	}
	return out
}

// Volumes lists the volumes of all storages by id.
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

// TaskInfo is one task as seen from outside.
type TaskInfo struct {
	UPID   string   `json:"upid"`
	Type   string   `json:"type"`
	VMID   int      `json:"vmid"`
	Exit   string   `json:"exit"` // "" while running
	Log    []string `json:"log"`
	Active bool     `json:"active"`
}

// Tasks lists all tasks, oldest first.
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

// Edit changes one key of a guest's config behind the API's back, as "qm set" or an editor does: no lock is taken, nothing is
// normalised, no privilege asked, a running guest notices nothing, and no effect is counted. An empty value removes the key.
func (s *Sim) Edit(vmid int, key, value string) error {
	return s.EditConfig(vmid, func(v map[string]string) {
		if value == "" {
			delete(v, key)
		} else {
			v[key] = value
		}
	})
}

// EditConfig changes the current section of a guest's config behind the API's back.
func (s *Sim) EditConfig(vmid int, change func(map[string]string)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.guests[vmid]
	if g == nil {
		return fmt.Errorf("edit guest %d: no such guest", vmid)
	}
	g.edit(func(c *config) { change(c.values) })
	return nil
}

// SetRunning turns a guest on or off behind the API's back. Pending changes of a VM that stops are applied, as its cleanup does.
func (s *Sim) SetRunning(vmid int, running bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.guests[vmid]
	if g == nil {
		return fmt.Errorf("set running state of guest %d: no such guest", vmid)
	}
	switch {
	case running && !g.running:
		s.run(g)
	case !running && g.running:
		s.halt(g)
	}
	return nil
}

// IgnoreShutdown makes a guest deaf to shutdown requests, as one that is still booting is.
func (s *Sim) IgnoreShutdown(vmid int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.guests[vmid]
	if g == nil {
		return fmt.Errorf("make guest %d ignore shutdown: no such guest", vmid)
	}
	g.deaf = true
	return nil
}

// RemoveGuest deletes a guest and its volumes behind the API's back, as "qm destroy" on the host does.
func (s *Sim) RemoveGuest(vmid int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guests[vmid] == nil {
		return fmt.Errorf("remove guest %d: no such guest", vmid)
	}
	for _, v := range s.owned(vmid) {
		s.free(v.ID, "removed by hand")
	}
	delete(s.guests, vmid)
	s.leavePool(vmid)
	return nil
}

// PoolComment is the comment of a pool and whether the pool exists.
func (s *Sim) PoolComment(id string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pools[id]
	if p == nil {
		return "", false
	}
	return p.comment, true
}
