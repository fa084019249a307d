package pvesim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Sim is a simulated Proxmox VE cluster. Its methods may be called from any goroutine. A Sim for a synctest bubble must be created in the
// bubble.
type Sim struct {
	opts    Options
	release atomic.Pointer[release]
	routes  *routeNode
	closed  chan struct{}
	closeMu sync.Mutex     // no work starts after Close has begun to wait
	work    sync.WaitGroup // tasks and calls in flight

	mu              sync.Mutex // guards everything below; never held while waiting
	rng             *rand.Rand
	guests          map[int]*guest
	storages        []*storage
	web             map[string]WebFile // by URL
	pools           map[string]*pool
	ha              map[int]*haResource
	haRounds        bool // the HA manager works in rounds
	services        map[int]*haService
	haQueue         []haCommand
	haMaster        string // the node whose manager is the master; "" before it first worked
	preferred       string // the node that the scheduler picks if it may, which tests of recordings set
	locals          map[string]*haLocal
	haNodeStates    map[string]*haNodeView
	replications    []*replicationJob
	backupJobs      []*backupJob
	haGroups        map[string]haGroup
	haRules         []*haRule
	firewalls       map[string]*firewall // by file: the cluster, nodes, vmids
	tokens          map[string]*credential
	users           map[string]*credential
	tasks           []*task // oldest first
	taskIndex       map[string]*task
	nextPID         int
	bootTime        time.Time
	reboots         map[string]time.Time // when nodes were booted again
	rounds          map[string]int64     // the last round of the resource broadcast that was taken, by node
	faults          []*fault
	held            []*heldCall
	heldChanged     chan struct{} // closed and replaced whenever another call is held
	locks           map[int]guestLock
	writers         map[int]string // UPID of the task that holds a guest's lock
	counts          counts
	violations      []string // broken invariants
	guard           guard
	vmlist          vmlist
	listRaces       map[int]destroyedVM
	workers         map[string]nodeWorkers // by node
	noMaster        time.Time              // when the last round of the HA manager ended, since StopHAMaster; the zero time while it works
	masterSince     time.Time              // when a new master came with StartHAMaster; the zero time before
	masterStopped   bool                   // by StopHAMaster
	noQuorum        bool
	waiting         int                  // writes that waited for the members of the cluster
	quorumLost      time.Time            // since when the nodes know
	cut             map[string]time.Time // nodes that are off the network, and since when
	frozen          map[string]*frozen   // what they last knew of the others
	down            []string             // nodes that do not answer
	starting        []string             // nodes that are members of the cluster after a boot, and whose proxy does not listen yet
	maintenance     []string             // nodes that the HA manager keeps its services away from
	downSince       map[string]time.Time
	broadcastCopies [frontWorkers]broadcastCopy // the cache of each front worker
	nextFrontWorker int                         // index of the front worker that answers next
}

// New returns a running cluster.
func New(opts Options) *Sim {
	opts = opts.withDefaults()
	s := &Sim{
		opts:     opts,
		closed:   make(chan struct{}),
		rng:      rand.New(rand.NewPCG(opts.Seed, 0x9e3779b97f4a7c15)), //nolint:gosec // generated identities must be reproducible
		guests:   map[int]*guest{},
		pools:    map[string]*pool{},
		ha:       map[int]*haResource{},
		services: map[int]*haService{}, locals: map[string]*haLocal{}, haNodeStates: map[string]*haNodeView{},
		cut: map[string]time.Time{}, frozen: map[string]*frozen{}, rounds: map[string]int64{},
		haGroups:    map[string]haGroup{},
		firewalls:   map[string]*firewall{},
		tokens:      map[string]*credential{},
		users:       map[string]*credential{},
		listRaces:   map[int]destroyedVM{},
		downSince:   map[string]time.Time{},
		reboots:     map[string]time.Time{},
		workers:     map[string]nodeWorkers{},
		vmlist:      vmlist{guests: map[int]vmlistEntry{}},
		taskIndex:   map[string]*task{},
		web:         map[string]WebFile{},
		nextPID:     1000,
		bootTime:    time.Now().Add(-40 * time.Minute),
		heldChanged: make(chan struct{}),
		locks:       map[int]guestLock{},
		writers:     map[int]string{},
		counts:      newCounts(),
		guard:       guard{announcedDestroys: map[int]string{}, announcedFrees: map[string]bool{}},
	}
	s.release.Store(newRelease(opts.Version))
	for _, t := range opts.Tokens {
		s.tokens[t.ID] = s.newCredential(t)
	}
	for _, u := range opts.Users {
		s.users[u.ID] = s.newCredential(Token{ID: u.ID, ACL: u.ACL})
		s.users[u.ID].disabled = u.Disabled
	}
	for _, st := range opts.Storages {
		s.storages = append(s.storages, newStorage(st))
	}
	s.routes = allRoutes()
	if err := s.generate(opts.Guests); err != nil {
		panic(fmt.Sprintf("generate guests: %v", err)) // the generated configs are valid; an error is a bug
	}
	return s
}

// Close ends all tasks where they are and releases held calls. It returns when all goroutines of the Sim have ended.
func (s *Sim) Close() {
	s.closeMu.Lock()
	if !s.isClosed() {
		close(s.closed)
	}
	s.closeMu.Unlock()
	s.work.Wait()
}

func (s *Sim) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// goTracked runs f in a goroutine that Close waits for. After Close it does not run f and returns false.
func (s *Sim) goTracked(f func()) bool {
	s.closeMu.Lock()
	defer s.closeMu.Unlock()
	if s.isClosed() {
		return false
	}
	s.work.Go(f)
	return true
}

// ServeHTTP answers one API call. It writes Proxmox's own status line if it can take over the connection. A response recorder without a
// connection receives only the status, the header and the body.
func (s *Sim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resp := s.exchange(r)
	resp.send(w, r)
}

// Token returns the credentials of a token as they follow "PVEAPIToken=" in the Authorization header, or "" for an unknown token.
func (s *Sim) Token(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tokens[id]; t != nil {
		return t.ID + "=" + t.Secret
	}
	return ""
}

// SetPrivileges replaces the ACL of a token or of a user in Options, as an administrator does while clients run. An unknown id is ignored.
func (s *Sim) SetPrivileges(id string, acl []ACL) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, known := range []map[string]*credential{s.tokens, s.users} {
		if old := known[id]; old != nil {
			t := old.Token
			t.ACL = acl
			known[id] = s.newCredential(t)
		}
	}
}

// SetDatacenter replaces the options of the datacenter, as an administrator does while clients run.
func (s *Sim) SetDatacenter(d Datacenter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.opts
	o.Cluster = d
	s.opts.Cluster = o.withDefaults().Cluster
}

// locked runs f with the state locked. All changes of guests use it.
func (s *Sim) locked(f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.syncVMList()
	if s.opts.ResourcesPeriod > 0 {
		s.broadcast() // due rounds show the state before this change
	}
	return f()
}

// addViolation records a broken invariant. The state is locked.
func (s *Sim) addViolation(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

func (s *Sim) hasNode(name string) bool { return slices.Contains(s.opts.Nodes, name) }

func (s *Sim) vmids() []int { return slices.Sorted(maps.Keys(s.guests)) }

func (s *Sim) storage(id string) *storage {
	for _, st := range s.storages {
		if st.ID == id {
			return st
		}
	}
	return nil
}

// newMAC returns a new MAC address with Proxmox's prefix.
func (s *Sim) newMAC() string {
	n := s.rng.Uint32()
	return fmt.Sprintf("BC:24:11:%02X:%02X:%02X", byte(n>>16), byte(n>>8), byte(n))
}

// newUUID returns a new random UUID (version 4).
func (s *Sim) newUUID() string {
	a, b := s.rng.Uint64(), s.rng.Uint64()
	a = a&^0xf000 | 0x4000
	b = b&^(3<<62) | 2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&0xffffffffffff)
}
