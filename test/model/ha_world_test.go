package model_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kinds"
)

// The other manager of a cluster: Proxmox's HA manager, as recordings 72 to 75 show it. Its master and the nodes act every ten seconds, the nodes five seconds after the master.

const haStep = 5 * time.Second

const (
	haStarted   = "started"
	haStopped   = "stopped"
	haRequested = "request_stop"
	haMigrate   = "migrate"
	haFence     = "fence"
	haError     = "error"
	haIgnored   = "ignored"
	haDisabled  = "disabled"
)

// service is a guest of the HA manager, and where a guest is.
type service struct {
	*machine

	node   string
	lock   string
	entry  string // what its entry asks for, "" without an entry
	state  string // in the books of the manager, "" while it has not read the entry
	target string // of a migration
	home   string // the node in maintenance that it left
	fails  int    // starts in a row, on this node
	moved  bool   // after starts that failed
	task   int    // number of the task that moves it, plus one; 0 if none does
	phase  int    // of the move
	moves  int    // how often its node changed, or its task ended without that
	lostAt int    // the step at which its node was lost
}

// isMoving reports whether a move is under way, or about to begin.
func (s *service) isMoving() bool { return s.state == haMigrate || s.task != 0 }

// request asks the manager to move a guest.
type request struct {
	vmid   int
	target string
	agent  bool
}

// haWorld is a cluster of three nodes with shared storage. Its methods are safe for concurrent use.
type haWorld struct {
	mu       sync.Mutex
	began    time.Time
	base     *world
	services map[int]*service
	rules    map[string]map[string]string
	queue    []request
	step     int
	rounds   int // of the master
	roundAt  time.Time
	noMaster bool
	noQuorum bool // nothing writes
	lost     map[string]bool
	silent   map[string]bool // nodes that are online and do not answer
	resting  map[string]bool // in maintenance
	broken   bool            // no start succeeds
	slow     bool            // a move takes 15 minutes
	failing  bool            // the next move fails
	dropping bool            // the next request is dropped
	breaking bool            // the next move ends without its end: its lock stays
	cut      *haView         // what the agent sees from the smaller part of the cluster; nil if it sees everything

	dropped map[int]int // by vmid: the round in which the manager dropped the agent's newest request
}

// haView is a list of guests and the time of the master's last round.
type haView struct {
	inventory cluster.Inventory
	roundAt   time.Time
}

func haNodes() []string { return []string{"pve1", "pve2", "pve3"} }

func newHAWorld() *haWorld {
	return &haWorld{
		began: time.Now(), base: newWorld(), services: map[int]*service{}, rules: map[string]map[string]string{}, roundAt: time.Now(), lost: map[string]bool{}, silent: map[string]bool{}, resting: map[string]bool{}, dropped: map[int]int{},
	}
}

// pass lets five seconds pass for Proxmox: the master's round, or the nodes' rounds.
func (w *haWorld) pass() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step++
	if w.noQuorum {
		return
	}
	vmids := slices.Sorted(maps.Keys(w.services))
	if w.step%2 == 0 {
		if w.noMaster {
			return
		}
		for _, vmid := range vmids {
			if s := w.services[vmid]; s.entry != "" {
				w.manage(s)
			}
		}
		w.answer()
		w.rounds++
		w.roundAt = time.Now()
		return
	}
	for _, vmid := range vmids {
		if s := w.services[vmid]; !w.lost[s.node] {
			w.execute(s)
		}
	}
}

// answer takes the requests of the queue, and drops those that are not possible, without a word.
func (w *haWorld) answer() {
	for _, r := range w.queue {
		s := w.services[r.vmid]
		if s == nil || s.entry == "" {
			continue
		}
		if s.state != haStarted && s.state != haStopped || s.node == r.target || !w.isUsable(r.target) || w.dropping {
			w.dropping = false
			if r.agent {
				w.dropped[r.vmid] = w.rounds
			}
			continue
		}
		s.state, s.target = haMigrate, r.target
	}
	w.queue = nil
}

func (w *haWorld) isUsable(node string) bool { return !w.lost[node] && !w.resting[node] }

// manage brings a guest one state further, as PVE::HA::Manager does.
func (w *haWorld) manage(s *service) {
	switch {
	case w.lost[s.node] && s.state != haIgnored:
		switch lasts := w.step - s.lostAt; {
		case lasts >= 27:
			w.recover(s)
		case lasts >= 13:
			s.state = haFence
		}
		return
	case s.state == haError:
		if s.entry == haDisabled {
			s.state, s.fails, s.moved = haStopped, 0, false
		}
		return
	case s.state == haMigrate && s.task != 0:
		return
	case s.state == haMigrate && s.phase == 0:
		return // its node has not begun
	case s.entry == haIgnored:
		s.state = haIgnored
		return
	case s.entry != haStarted && s.running:
		s.state = haRequested
		return
	case s.entry != haStarted:
		s.state, s.fails, s.moved, s.phase = haStopped, 0, false, 0
		return
	}
	if s.state == haMigrate { // it has ended
		s.phase = 0
	}
	s.state = haStarted
	if target := w.target(s); target != s.node {
		s.state, s.target = haMigrate, target
		return
	}
	if s.fails > 1 {
		w.relocate(s)
	}
}

// relocate moves a guest that could not be started once, and then gives it up.
func (w *haWorld) relocate(s *service) {
	s.fails = 0
	for _, node := range haNodes() {
		if !s.moved && node != s.node && w.isUsable(node) {
			s.moved, s.state, s.target = true, haMigrate, node
			return
		}
	}
	s.state = haError
}

// recover takes a guest from a node that was fenced.
func (w *haWorld) recover(s *service) {
	node := w.target(s)
	if node == s.node {
		return
	}
	if s.task != 0 {
		w.endTask(s, cluster.TaskLost)
	}
	s.node, s.running, s.state, s.fails, s.phase = node, false, haStarted, 0, 0
	s.moves++
	if s.entry != haStarted {
		s.state = haStopped
	}
}

// target returns the node on which the manager wants a guest, its own if no other is left.
func (w *haWorld) target(s *service) string {
	var nodes []string
	for _, node := range haNodes() {
		if w.isUsable(node) {
			nodes = append(nodes, node)
		}
	}
	for _, r := range w.rules {
		switch {
		case r["disable"] == "1" || !slices.Contains(strings.Split(r["resources"], ","), s.sid()):
		case r["type"] == "node-affinity":
			if wanted, _, _ := strings.Cut(r["nodes"], ":"); slices.Contains(nodes, wanted) { // the model has rules with one node
				nodes = []string{wanted}
			}
		default:
			nodes = slices.DeleteFunc(nodes, func(n string) bool {
				return slices.ContainsFunc(w.apart(s), func(o *service) bool { return o.node == n })
			})
		}
	}
	switch {
	case len(nodes) == 0:
		return s.node
	case w.resting[s.node] && !slices.Contains(nodes, s.node):
		s.home = cmp.Or(s.home, s.node)
		return nodes[0]
	case slices.Contains(nodes, s.home):
		home := s.home
		s.home = ""
		return home
	case slices.Contains(nodes, s.node):
		return s.node
	}
	return nodes[0]
}

// apart returns the guests that a rule keeps from the node of a guest.
func (w *haWorld) apart(s *service) []*service {
	var others []*service
	for _, r := range w.rules {
		sids := strings.Split(r["resources"], ",")
		for _, o := range w.services {
			if r["affinity"] == "negative" && o != s && o.entry != "" && slices.Contains(sids, s.sid()) && slices.Contains(sids, o.sid()) {
				others = append(others, o)
			}
		}
	}
	return others
}

func (s *service) sid() string { return "vm:" + strconv.Itoa(s.vmid) }

// execute lets the node of a guest do its part.
func (w *haWorld) execute(s *service) {
	switch {
	case s.task != 0:
		w.move(s)
	case s.state == haMigrate && s.phase == 0:
		s.phase = 1
		if s.lock != "" {
			return // refused
		}
		w.beginMove(s)
	case s.state == haRequested && s.running:
		s.running = false
	case s.state == haStarted && s.entry == haStarted && !s.running:
		if w.broken || s.lock != "" {
			s.fails++
			return
		}
		s.running = true
		s.applyPending()
	}
}

// beginMove begins the task that moves a guest.
func (w *haWorld) beginMove(s *service) string {
	upid := w.base.task("qmigrate", s.vmid)
	s.task, s.lock, s.phase = len(w.base.tasks), "migrate", 1
	t := &w.base.tasks[s.task-1]
	t.UPID, t.Node, t.Running, t.Outcome, t.Exit = strings.Replace(upid, ":pve1:", ":"+s.node+":", 1), s.node, true, cluster.TaskPending, ""
	return t.UPID
}

// move brings the task that moves a guest one phase further.
func (w *haWorld) move(s *service) {
	s.phase++
	switch {
	case w.lost[s.target] || w.failing:
		w.failing = false
		w.endTask(s, cluster.TaskFailed)
		s.lock = ""
		s.moves++
	case w.breaking:
		w.breaking = false
		w.endTask(s, cluster.TaskFailed)
		s.moves++
	case w.slow && s.phase < 1+int(15*time.Minute/haStep/2):
	case s.node != s.target:
		s.node = s.target // still locked
		s.moves++
	default:
		s.lock = ""
		w.endTask(s, cluster.TaskSucceeded)
	}
}

func (w *haWorld) endTask(s *service, outcome cluster.TaskOutcome) {
	t := &w.base.tasks[s.task-1]
	t.Running, t.Outcome, t.Exit, t.End = false, outcome, "OK", time.Now()
	if outcome != cluster.TaskSucceeded {
		t.Exit = "migration problems"
	}
	s.task = 0
}

// act carries out a call of the agent.
func (w *haWorld) act(call cluster.Call) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.services[call.VMID]
	switch {
	case w.noQuorum || w.cut != nil:
		return "", fmt.Errorf("cluster not ready - no quorum?: %w", cluster.ErrNotReady)
	case call.Op.IsObject():
		return "", w.actOnRule(call)
	case call.Op == cluster.OpCreate && s == nil:
		upid, err := w.base.act(call)
		if err == nil {
			w.services[call.VMID] = &service{machine: w.base.guests[call.VMID], node: call.Node}
		}
		return w.onNode(upid, call.Node), err
	case s == nil || s.node != call.Node:
		return "", fmt.Errorf("Configuration file 'nodes/%s/qemu-server/%d.conf' does not exist: %w", call.Node, call.VMID, cluster.ErrNotExist)
	case w.lost[s.node] || w.silent[s.node]:
		return "", fmt.Errorf("Connection refused: %w", cluster.ErrNotSent)
	}
	switch call.Op { //nolint:exhaustive // the world passes the others on
	case cluster.OpHAAdd, cluster.OpHASet, cluster.OpHARemove:
		return "", w.actOnEntry(s, call)
	case cluster.OpMigrate:
		return w.actOnMove(s, call)
	}
	if s.lock != "" {
		return "", fmt.Errorf("VM is locked (%s): %w", s.lock, cluster.ErrLocked)
	}
	if managed := s.entry != "" && s.entry != haIgnored; managed && call.Op.IsRunState() {
		s.entry = map[bool]string{true: haStarted, false: haStopped}[call.Op == cluster.OpStart]
		return w.onNode(w.base.task("ha"+string(call.Op), s.vmid), s.node), nil
	}
	upid, err := w.base.act(call)
	if w.base.guests[call.VMID] == nil {
		delete(w.services, call.VMID)
	}
	return w.onNode(upid, call.Node), err
}

// onNode notes the node of the newest task.
func (w *haWorld) onNode(upid, node string) string {
	if upid == "" {
		return ""
	}
	t := &w.base.tasks[len(w.base.tasks)-1]
	t.Node, t.UPID = node, strings.Replace(upid, ":pve1:", ":"+node+":", 1)
	return t.UPID
}

func (w *haWorld) actOnRule(call cluster.Call) error {
	_, exists := w.rules[call.Object]
	switch {
	case call.Op == cluster.OpObjectAdd && exists:
		return fmt.Errorf("rule '%s' already exists: %w", call.Object, cluster.ErrConflict)
	case call.Op == cluster.OpObjectAdd:
		w.rules[call.Object] = maps.Clone(call.Params)
	case !exists:
		return fmt.Errorf("no such rule '%s': %w", call.Object, cluster.ErrNotExist)
	case call.Op == cluster.OpObjectRemove:
		delete(w.rules, call.Object)
	default:
		maps.Copy(w.rules[call.Object], call.Params)
		for _, key := range call.Delete {
			delete(w.rules[call.Object], key)
		}
	}
	return nil
}

func (w *haWorld) actOnEntry(s *service, call cluster.Call) error {
	wish := cmp.Or(call.Params["state"], s.entry, haStarted)
	switch {
	case call.Op == cluster.OpHAAdd && s.entry != "":
		return fmt.Errorf("resource ID '%s' already defined: %w", s.sid(), cluster.ErrConflict)
	case call.Op == cluster.OpHARemove:
		s.entry, s.state, s.target, s.home = "", "", "", ""
	case call.Op == cluster.OpHASet && s.entry == "":
		return fmt.Errorf("no such resource '%s': %w", s.sid(), cluster.ErrConflict)
	case s.state == haError && wish != haDisabled:
		return fmt.Errorf("service '%s' in error state, must be disabled and fixed first: %w", s.sid(), cluster.ErrInvalid)
	default:
		s.entry = wish
	}
	return nil
}

// actOnMove queues the request to move a guest, or moves a guest without HA.
func (w *haWorld) actOnMove(s *service, call cluster.Call) (string, error) {
	target := call.Params["target"]
	switch {
	case s.lock != "":
		return "", fmt.Errorf("VM is locked (%s): %w", s.lock, cluster.ErrLocked)
	case target == s.node:
		return "", fmt.Errorf("target is local node: %w", cluster.ErrInvalid)
	case s.entry == "" || s.entry == haIgnored:
		s.target = target
		return w.beginMove(s), nil
	}
	upid := w.onNode(w.base.task("hamigrate", s.vmid), s.node)
	if slices.ContainsFunc(w.apart(s), func(o *service) bool { return o.node == target }) {
		t := &w.base.tasks[len(w.base.tasks)-1]
		t.Outcome, t.Exit = cluster.TaskFailed, "command 'ha-manager migrate' failed: exit code 2"
		return upid, nil
	}
	delete(w.dropped, s.vmid)
	w.queue = append(w.queue, request{vmid: s.vmid, target: target, agent: true})
	return upid, nil
}

// isSettled reports whether the HA manager does nothing with a guest, as far as anybody can see, and the guest is as its entry asks for.
func (w *haWorld) isSettled(vmid int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.services[vmid]
	switch {
	case s == nil:
		return false
	case w.lost[s.node] || s.lock != "" || s.isMoving() || slices.ContainsFunc(w.queue, func(r request) bool { return r.vmid == vmid && r.agent }): // nobody can see the queue
		return false
	case s.entry == "" || s.entry == haIgnored:
		return true
	}
	return s.state == map[bool]string{true: haStarted, false: haStopped}[s.entry == haStarted] && s.running == (s.entry == haStarted)
}

// isHome reports whether the HA manager wants a guest where it is.
func (w *haWorld) isHome(vmid int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.services[vmid]
	home := s.home
	defer func() { s.home = home }()
	return s.entry == "" || s.entry == haIgnored || w.target(s) == s.node
}

// lockedWithoutTask reports whether a guest has the lock of a migration that no task holds.
func (w *haWorld) lockedWithoutTask(vmid int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.services[vmid]
	return s != nil && s.lock != "" && s.task == 0
}

// stands reports whether no master of the HA manager works.
func (w *haWorld) stands() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.noMaster || w.noQuorum
}

// hasTask reports whether a task moves a guest.
func (w *haWorld) hasTask(vmid int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.services[vmid].task != 0
}

// isMoving reports whether a guest is under way, or about to be.
func (w *haWorld) isMoving(vmid int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.services[vmid]
	return s != nil && s.isMoving()
}

// text is everything of the cluster that can change, without times.
func (w *haWorld) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	for _, vmid := range slices.Sorted(maps.Keys(w.services)) {
		s := w.services[vmid]
		fmt.Fprintf(&b, "%d on %s%s run:%v entry:%s state:%s", vmid, s.node, map[bool]string{true: "(lost)"}[w.lost[s.node]], s.running, s.entry, s.state)
		if s.state == haMigrate || s.lock != "" {
			fmt.Fprintf(&b, ">%s lock:%s task:%v", s.target, s.lock, s.task != 0)
		}
		b.WriteString("; ")
	}
	fmt.Fprintf(&b, "queue%v rules%v lost%v rest%v silent%v", w.queue, len(w.rules), slices.Sorted(maps.Keys(w.lost)), slices.Sorted(maps.Keys(w.resting)), slices.Sorted(maps.Keys(w.silent)))
	if w.noMaster || w.noQuorum || w.cut != nil {
		fmt.Fprintf(&b, " master:%v quorum:%v whole:%v", !w.noMaster, !w.noQuorum, w.cut == nil)
	}
	return b.String()
}

// haReader is what the agent sees of the cluster.
type haReader struct {
	reader

	*haWorld
}

func (r haReader) Inventory(context.Context) (cluster.Inventory, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut != nil {
		seen := r.cut.inventory
		seen.ReadAt, seen.Offline = time.Now(), []string{"pve2", "pve3"}
		return seen, nil
	}
	return r.list(), nil
}

func (w *haWorld) list() cluster.Inventory {
	seen := cluster.Inventory{ReadAt: time.Now(), Offline: slices.Sorted(maps.Keys(w.lost)), Maintenance: slices.Sorted(maps.Keys(w.resting)), Version: guest.Version{Major: 9, Minor: 2}}
	for _, node := range haNodes() {
		seen.Capacity.Nodes = append(seen.Capacity.Nodes, cluster.NodeCapacity{Node: node, MaxMem: 64 << 30, CPUs: 8})
	}
	for _, vmid := range slices.Sorted(maps.Keys(w.services)) {
		s := w.services[vmid]
		seen.Rows = append(seen.Rows, cluster.Row{
			Kind: guest.VirtualMachine, VMID: vmid, Node: s.node, Name: s.keys["name"], Status: s.status(), Tags: s.keys["tags"], Lock: s.lock, HAState: cmp.Or(s.state, s.entry),
		})
	}
	return seen
}

// at returns a guest on the node of a row.
func (r haReader) at(row cluster.Row) (*service, error) {
	s := r.services[row.VMID]
	switch {
	case r.lost[row.Node] || r.silent[row.Node] || r.cut != nil && row.Node != "pve1":
		return nil, fmt.Errorf("no route to host: %w", cluster.ErrNotReady)
	case s == nil || s.node != row.Node:
		return nil, fmt.Errorf("%w: %d", cluster.ErrNotExist, row.VMID)
	}
	return s, nil
}

func (r haReader) Observe(_ context.Context, row cluster.Row) (guest.Observed, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.at(row)
	if err != nil {
		return guest.Observed{}, err
	}
	seen := s.observed()
	seen.Node, seen.Status, seen.Lock, seen.HA = row.Node, row.Status, s.lock, row.HAState != ""
	return seen, nil
}

func (r haReader) Status(_ context.Context, row cluster.Row) (guest.Status, *guest.Process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.at(row)
	if err != nil {
		return "", nil, err
	}
	return s.status(), nil, nil
}

func (r haReader) HA(context.Context) (map[int]guest.HA, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries := map[int]guest.HA{}
	for vmid, s := range r.services {
		if s.entry != "" {
			entries[vmid] = guest.HA{State: s.entry, MaxRestart: 1, MaxRelocate: 1}
		}
	}
	return entries, nil
}

func (r haReader) HAMaster(context.Context) (cluster.HAMaster, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.roundAt
	if r.cut != nil {
		at = r.cut.roundAt
	}
	return cluster.HAMaster{Node: "pve3", RoundAt: at.Truncate(time.Second)}, nil
}

func (r haReader) Exists(_ context.Context, vmid int) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.services[vmid] != nil, nil
}

func (r haReader) Ready(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.noQuorum || r.cut != nil {
		return fmt.Errorf("no quorum: %w", cluster.ErrNotReady)
	}
	return nil
}

// Wait waits until a task has ended.
func (r haReader) Wait(ctx context.Context, upid string) (cluster.Task, error) {
	for {
		r.mu.Lock()
		task, err := r.reader.Wait(ctx, upid)
		unread := r.lost[cluster.TaskNode(upid)] || r.silent[cluster.TaskNode(upid)] || r.cut != nil && cluster.TaskNode(upid) != "pve1"
		r.mu.Unlock()
		switch {
		case unread:
			return cluster.Task{}, fmt.Errorf("no route to host: %w", cluster.ErrNotReady)
		case err != nil || !task.Running:
			return task, err
		}
		select {
		case <-ctx.Done():
			return task, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func (r haReader) Tasks(ctx context.Context, q cluster.TaskQuery) ([]cluster.Task, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost[q.Node] || r.silent[q.Node] || r.cut != nil && q.Node != "pve1" {
		return nil, fmt.Errorf("no route to host: %w", cluster.ErrNotReady)
	}
	list, err := r.reader.Tasks(ctx, q)
	return slices.DeleteFunc(list, func(t cluster.Task) bool { return q.Node != "" && t.Node != q.Node }), err
}

func (r haReader) Nodes(context.Context) ([]cluster.Node, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []cluster.Node
	for _, node := range haNodes() {
		list = append(list, cluster.Node{Name: node, Online: !r.lost[node]})
	}
	return list, nil
}

func (r haReader) Snapshots(_ context.Context, row cluster.Row) (guest.Snapshots, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.at(row)
	if err != nil {
		return guest.Snapshots{}, err
	}
	return guest.Snapshots{Digest: s.digest()}, nil
}

func (r haReader) Objects(_ context.Context, kind guest.Kind, _ []string) (map[string]cluster.Object, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	objects := map[string]cluster.Object{}
	if kind == kinds.AffinityRules {
		for id, keys := range r.rules {
			objects[id] = cluster.Object{ID: id, Keys: maps.Clone(keys)}
		}
	}
	return objects, nil
}

// Backups lists none: no order of the model makes one.
func (r haReader) Backups(context.Context, string, string, int) ([]cluster.Backup, error) {
	return nil, nil
}
