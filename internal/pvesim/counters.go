package pvesim

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Op names an effect on a guest.
type Op string

// The effects that are counted. Each is counted when it happens, not when it is requested.
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
	BackedUp        Op = "backed-up"
	Migrated        Op = "migrated" // the config is on another node
	Reset           Op = "reset"
	Paused          Op = "paused" // also if the VM is paused already
	Resumed         Op = "resumed"
)

// Counters hold the numbers of calls, their effects, and the volumes that were freed.
type Counters struct {
	Reads   int                `json:"reads"`   // calls with GET
	Writes  int                `json:"writes"`  // calls with any other method
	Routes  map[string]int     `json:"routes"`  // by "METHOD /path/{with}/variables"
	Effects map[int]map[Op]int `json:"effects"` // by vmid
	Freed   map[string]string  `json:"freed"`   // volume id to the reason

	// Objects counts the calls that changed an object of the cluster that is no guest, by its path, such as /pools/web, and by method. A file that a node
	// downloaded is counted with its volume, such as /storage/local:iso/a.iso, and the method POST, and one that it deleted with the method DELETE.
	Objects map[string]map[string]int `json:"objects"`
}

type counts struct {
	reads, writes int
	routes        map[string]int
	effects       map[int]map[Op]int
	freed         map[string]string
	objects       map[string]map[string]int
}

func newCounts() counts {
	return counts{routes: map[string]int{}, effects: map[int]map[Op]int{}, freed: map[string]string{}, objects: map[string]map[string]int{}}
}

func (s *Sim) countCall(c *call) {
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

// objectIDs are the parameters that name the object of a call whose path does not.
var objectIDs = []string{"poolid", "id", "sid", "rule", "group", "name", "cidr"}

// countObject counts a call that had an effect on an object of the cluster. A call with rename changes an object, although its method is POST.
func (s *Sim) countObject(c *call) {
	if c.method == http.MethodGet || !strings.HasPrefix(c.path, "/pools") && !strings.HasPrefix(c.path, "/cluster/") {
		return
	}
	path, method := c.path, c.method
	names := objectIDs
	if method != http.MethodPost && strings.HasSuffix(c.route.label, "}") {
		names = nil // the path ends with the object, and cidr is a key of an alias
	}
	for _, name := range names {
		if id := c.params[name]; id != "" && c.vars[name] == "" {
			path += "/" + id
			break
		}
	}
	if c.params["rename"] != "" {
		method = http.MethodPut
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.countChange(path, method)
}

func (c *counts) countChange(path, method string) {
	m := c.objects[path]
	if m == nil {
		m = map[string]int{}
		c.objects[path] = m
	}
	m[method]++
}

// countEffect counts an effect on a guest. The state is locked.
func (s *Sim) countEffect(vmid int, op Op) {
	s.checkEffectQuorum(vmid, op)
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
		Effects: map[int]map[Op]int{}, Objects: map[string]map[string]int{},
	}
	for path, m := range s.counts.objects {
		c.Objects[path] = maps.Clone(m)
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

// Effects returns how often an effect happened to a guest since New or ResetCounters.
func (s *Sim) Effects(vmid int, op Op) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts.effects[vmid][op]
}

// Writes returns the number of calls with a method other than GET since New or ResetCounters. Failed calls count too.
func (s *Sim) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts.writes
}

// Violations returns the broken invariants, oldest first: two writers on one guest, a write without quorum, a volume that was freed
// without a reason and, after Guard, every guest that was destroyed and every volume that was freed without an announcement.
func (s *Sim) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}
