package model_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/volumes"
)

// revision is an accepted commit.
type revision struct {
	number                     int
	commit                     string
	set                        manifest.Set
	guests                     []guest.Desired
	approves                   int          // the vmid of the guest whose held step it approves
	orders                     string       // a one-shot operation: the value of its trailer; "" orders none
	mayRemove                  bool         // also objects that are no guests
	mayDestroy, mayCreateAgain map[int]bool // what its manifests and orders allow, as a person reads them
}

func (r *revision) name() string { return "main@sha1:" + r.commit }

// event is something that others do, once at most in a path.
type event struct {
	name     string
	possible func(*run) bool // nil is always
	happen   func(*run)
}

// scenario is one small world.
type scenario struct {
	name     string
	vmids    []int
	pools    []string // their ids
	jobs     []string // of replication: their ids
	before   string   // manifests that converged before the path begins; "" is nothing
	first    *revision
	second   *revision // pushed at any moment; nil is none
	events   []event
	crash    bool // once, at any moment
	unpruned int  // about how many paths it has if none is left out; 0 is too many
	large    bool // its search takes minutes
	held     bool // a guard holds what is left, also if nobody interferes
	lost     bool // one call is refused, or its reply is lost, and it acts now, later or never
}

// keys returns what has a lane.
func (s *scenario) keys() []object.Key {
	var keys []object.Key
	for _, vmid := range s.vmids {
		keys = append(keys, object.Guest(vmid))
	}
	for _, id := range s.pools {
		keys = append(keys, object.Key{Label: "Pool/" + id})
	}
	for _, id := range s.jobs {
		keys = append(keys, object.Key{Label: jobLabel(id)})
	}
	return keys
}

// turn is one turn of a lane.
type turn struct {
	key     object.Key
	at      string // where it gives way, "" while it runs
	resume  chan fate
	hasRead bool
	history []uint64 // what it knows: the state at each moment when it was released
	result  atomic.Pointer[lane.Result]
}

// run is one path.
type run struct {
	scenario  *scenario
	world     *world
	dir       string
	stepIDs   int
	process   *process
	force     *revision
	turns     map[object.Key]*turn
	failed    map[object.Key]error // those whose last turn failed, until time passes
	waited    int                  // how often time passed
	used      map[string]bool
	lost      bool
	lateCall  *cluster.Call
	lateStep  string
	disturbed bool // by a person or a lost reply: the world may be left waiting for a person
	effects   map[string]int
	destroys  int
	gone      map[int]bool        // guests that a person destroyed
	refused   map[object.Key]bool // guests whose last turn was refused because of volumes
	data      map[string]string   // volumes with data, by vmid and slot
	violation string

	trace []string
	end   uint64 // hash of the state at the end of the path
}

func (r *run) violate(format string, args ...any) {
	if r.violation == "" {
		r.violation = fmt.Sprintf(format, args...)
	}
}

// giveWay lets others act, and returns when the search releases the turn.
func (p *process) giveWay(t *turn, at string) (fate, error) {
	if p.dead {
		return answered, errDead
	}
	t.at = at
	f := <-t.resume
	if p.dead {
		return answered, errDead
	}
	return f, nil
}

// action is one possible continuation.
type action struct {
	name string
	do   func()
}

// actions returns the possible continuations, in a fixed order. The first one is the ordinary course of things.
func (r *run) actions() []action {
	var list []action
	for _, key := range r.scenario.keys() {
		list = append(list, r.laneActions(key)...)
	}
	busy := len(list) > 0
	if r.lateCall != nil {
		list = append(list, action{"the late " + string(r.lateCall.Op) + " acts", r.lateActs})
	}
	if rev := r.scenario.second; rev != nil && r.force != rev {
		list = append(list, action{"the second revision is accepted", func() {
			if err := r.process.accept(rev); err != nil {
				r.violate("accept: %v", err)
			}
			r.failed = map[object.Key]error{}
		}})
	}
	for _, e := range r.scenario.events {
		if !r.used[e.name] && (e.possible == nil || e.possible(r)) {
			list = append(list, action{e.name, func() { r.used[e.name], r.disturbed = true, true; e.happen(r) }})
		}
	}
	others := r.jobActions()
	list = append(list, others...)
	if r.scenario.crash && !r.used["crash"] && (busy || len(r.turns) > 0) {
		list = append(list, action{"the agent is killed and started again", r.crash})
	}
	if !busy && r.waited < 4 && (len(r.failed) > 0 || len(r.turns) > 0) {
		list = append([]action{{"time passes", r.timePasses}}, list...)
	}
	if !busy && len(others) == 0 && len(r.failed) == 0 && len(r.turns) == 0 && len(list) > 0 {
		list = append([]action{{"nothing else happens", nil}}, list...)
	}
	return list
}

// laneActions returns what the lane of a guest or another object can do: begin a turn, or continue it with one of the fates of its call.
func (r *run) laneActions(key object.Key) []action {
	t := r.turns[key]
	switch {
	case t == nil:
		uses, work, _, _ := r.process.next(key)
		if !work || r.failed[key] != nil {
			return nil
		}
		return []action{{fmt.Sprintf("lane %s begins a turn", key), func() {
			t := &turn{key: key, resume: make(chan fate)}
			r.turns[key] = t
			t.history = append(t.history, r.hashFor(key))
			go func(p *process) {
				result := p.worker.Work(context.WithValue(context.Background(), turnKey{}, t), key, uses)
				t.result.Store(&result)
			}(r.process)
		}}}
	case t.at == "":
		return nil // it waits for time to pass
	}
	release := func(f fate) func() {
		return func() {
			t.at = ""
			t.history = append(t.history, r.hashFor(key)*31+uint64(f))
			t.resume <- f
		}
	}
	list := []action{{fmt.Sprintf("lane %s, which %s, continues", key, t.at), release(answered)}}
	if r.scenario.lost && !r.lost && strings.HasPrefix(t.at, "waits for a slot") {
		lose := func(f fate) func() {
			return func() { r.lost, r.disturbed = true, true; release(f)() }
		}
		list = append(list,
			action{fmt.Sprintf("lane %s, which %s, continues, and Proxmox refuses the call", key, t.at), lose(rejected)},
			action{fmt.Sprintf("lane %s, which %s, continues, and the reply is lost", key, t.at), lose(replyLost)},
			action{fmt.Sprintf("lane %s, which %s, continues, and the call gets stuck", key, t.at), lose(late)})
	}
	return list
}

func (r *run) lateActs() {
	call := *r.lateCall
	r.lateCall = nil
	_, err := r.carryOut(call, r.lateStep, true)
	if j := r.world.jobs[call.Object]; err == nil && call.Op == cluster.OpObjectAdd && j != nil {
		j.late = true
	}
}

// crash kills the process: whatever it still tries has no effect. The next one begins with the journal.
func (r *run) crash() {
	r.used["crash"] = true
	old := r.process
	old.dead = true
	if err := old.journal.Close(); err != nil {
		r.violate("close: %v", err)
	}
	r.bury()
	r.failed = map[object.Key]error{}
	force := r.force
	if err := r.start(); err != nil {
		r.violate("the journal does not open: %v", err)
		return
	}
	r.force = force
	r.process.setBasis()
}

// bury waits until the turns of a dead process have ended.
func (r *run) bury() {
	for len(r.turns) > 0 {
		for key, t := range r.turns {
			synctest.Wait()
			switch {
			case t.result.Load() != nil:
				delete(r.turns, key)
			case t.at != "":
				t.at = ""
				t.resume <- answered
			default:
				time.Sleep(time.Minute)
			}
		}
	}
}

func (r *run) timePasses() {
	d := []time.Duration{20 * time.Second, time.Minute, 11 * time.Minute, 11 * time.Minute}[r.waited]
	if d > 10*time.Minute {
		r.lateCall = nil // too late now
	}
	r.waited++
	time.Sleep(d)
	r.failed = map[object.Key]error{}
}

// explore continues a path to its end. It takes the first choices from a list; widths are the numbers of options that an earlier path had there. It returns the choices that it had at each point.
func (r *run) explore(choices, widths []int, visited map[uint64]bool) (options []int, pruned bool) {
	for range 400 {
		synctest.Wait()
		for _, key := range r.scenario.keys() {
			if t := r.turns[key]; t != nil && t.result.Load() != nil {
				delete(r.turns, key)
				_, _, r.refused[key] = volumes.Refusal(t.result.Load().Err)
				if t.result.Load().Err != nil {
					r.failed[key] = t.result.Load().Err
				}
			}
		}
		r.checkJobs()
		if r.violation != "" {
			return options, false
		}
		list := r.actions()
		if len(list) == 0 {
			return options, false
		}
		chosen := 0
		if len(list) > 1 {
			at := len(options)
			if at < len(widths) && at < len(choices) && widths[at] != len(list) {
				r.violate("the path is not reproducible: got %d options, want %d", len(list), widths[at])
				return options, false
			}
			if at < len(choices) {
				chosen = min(choices[at], len(list)-1)
			} else if visited != nil {
				h := r.hash()
				if visited[h] {
					return options, true
				}
				visited[h] = true
			}
			options = append(options, len(list))
			r.trace = append(r.trace, fmt.Sprintf("%2d of %d  %s", chosen, len(list), list[chosen].name))
		} else {
			r.trace = append(r.trace, "         "+list[chosen].name)
		}
		if list[chosen].do == nil {
			return options, false
		}
		list[chosen].do()
	}
	r.violate("the path does not end")
	return options, false
}

// finish checks the end of a path.
func (r *run) finish() {
	if r.violation != "" {
		return
	}
	for _, key := range r.scenario.keys() {
		_, work, planned, why := r.process.next(key)
		failed := r.failed[key]
		switch {
		case !r.disturbed && !r.scenario.held && (work || !planned.Empty() || failed != nil):
			r.violate("nobody interfered, and %s does not converge: %s%v", key, why, failed)
		case work && failed == nil:
			r.violate("%s has work, and no lane does it", key)
		case !planned.Converged() && why == "" && failed == nil:
			r.violate("%s is not as wanted, and nothing says why", key)
		}
	}
	if _, err := journal.Read(r.dir, func(journal.Record) error { return nil }); err != nil {
		r.violate("the journal is not whole: %v", err)
	}
}

// stop ends the process at the end of a path.
func (r *run) stop() {
	r.process.dead = true
	_ = r.process.journal.Close()
	r.bury()
}

// hash identifies the state at a choice: two paths with the same hash have the same continuations.
func (r *run) hash() uint64 {
	h := fnv.New64a()
	for _, key := range r.scenario.keys() {
		fmt.Fprintf(h, "%s %x|", key, r.hashFor(key))
		if t := r.turns[key]; t != nil {
			fmt.Fprintf(h, "turn %s %v %v|", t.at, t.hasRead, t.history)
		}
		fmt.Fprintf(h, "failed %v %v %v|", r.failed[key] != nil, r.refused[key], r.gone[key.VMID])
	}
	fmt.Fprintf(h, "%v %v %v %d %v %d", slices.Sorted(maps.Keys(r.used)), r.lost, r.disturbed, r.waited, r.lateCall != nil, r.destroys)
	fmt.Fprint(h, r.process.cache) // in the order of the keys
	return h.Sum64()
}

// hashFor identifies everything that a turn of one lane can read.
func (r *run) hashFor(key object.Key) uint64 {
	if key.VMID == 0 {
		kind, id, _ := strings.Cut(key.Label, "/")
		return r.hashOfObject(journal.ObjectID{Kind: kind, ID: id})
	}
	return r.hashOfGuest(key.VMID)
}

// hashOfGuest identifies what the turn of a guest can read. Random identities count only as far as the guest has them.
func (r *run) hashOfGuest(vmid int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d %v %d|", r.force.commit, r.process.epoch, slices.Sorted(maps.Keys(r.world.volumes)), r.waited)
	state := r.process.journal.State()
	fmt.Fprintf(h, "%d %v %v|", len(state.Destroys), r.lateCall != nil && r.lateCall.VMID == vmid, state.Repeated[vmid])
	if state.Repeated[vmid] || len(state.Open) > 0 {
		fmt.Fprintf(h, "%s|", time.Since(r.process.started).Round(time.Second)) // how long a late call of an earlier process may still act
	}
	for _, o := range state.Open {
		if o.VMID == vmid || o.Op == "destroy" {
			fmt.Fprintf(h, "open %d %s %d %v %v %d %v|", o.VMID, o.Op, o.Dispatched, o.UPID != "", o.Revision, r.effects[o.Step+" "+o.Op], o.Seq > r.process.first)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(state.Orders)) {
		fmt.Fprintf(h, "%s %s %d|", id, state.Orders[id].State, r.effects[orderStep+id+" reboot"])
	}
	owned, isOwned := state.Owned[vmid]
	fmt.Fprintf(h, "%v %v %v %v %+v %s %v %v|", isOwned, owned.Claiming, owned.UUID != "", owned.Task != "", withoutIdentity(state.Guarded[vmid]), state.Attached[vmid].Volumes, state.Attached[vmid].Filling,
		state.IneffectiveRestarts[vmid].Revision)
	for _, other := range slices.Sorted(maps.Keys(r.world.guests)) {
		g := r.world.guests[other]
		keys := mapOfSlots(g.keys)
		if other == vmid {
			e := ownership.Compare(owned, g.observed())
			fmt.Fprintf(h, "%s %v %v %v %+v %v|", g.keys["name"], g.running, g.foreign, g.pending, e, g.keys["memory"])
			for _, key := range slices.Sorted(maps.Keys(g.keys)) {
				if key != "smbios1" && key != "tags" && key != "vmgenid" {
					fmt.Fprintf(h, "%s=%s|", key, g.keys[key])
				}
			}
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			fmt.Fprintf(h, "%d %s %s|", other, key, keys[key])
		}
	}
	return h.Sum64()
}

// hashOfVolumes identifies who uses which volume.
func (r *run) hashOfVolumes() uint64 {
	h := fnv.New64a()
	for _, vmid := range slices.Sorted(maps.Keys(r.world.guests)) {
		g := r.world.guests[vmid]
		fmt.Fprintf(h, "%d %v %v %v|", vmid, g.foreign, mapOfSlots(g.keys), g.keys["unused0"])
	}
	return h.Sum64()
}

func withoutIdentity(g journal.Guarded) journal.Guarded {
	g.Identity = ""
	return g
}

// beginning is the state in which every path of a scenario begins.
type beginning struct {
	world *world
	files map[string][]byte
	data  map[string]string
	ids   int
}

// begin makes the state in which the paths begin: the manifests of before have converged.
func (s *scenario) begin(t *testing.T) beginning {
	b := beginning{world: newWorld(), data: map[string]string{}}
	dir := scratch(t)
	synctest.Test(t, func(t *testing.T) {
		calm := &scenario{name: s.name, vmids: s.vmids, pools: s.pools, jobs: s.jobs}
		b.world.addGuestsOf(s.jobs)
		r := calm.newRun(b.world, dir, 0)
		if err := r.start(); err != nil {
			t.Fatal(err)
		}
		if s.before != "" {
			if err := r.process.accept(newRevision(t, 1, s.before)); err != nil {
				t.Fatal(err)
			}
			r.explore(nil, nil, nil)
			r.finish()
		}
		if r.violation != "" {
			t.Fatalf("before the path: %s\n%s", r.violation, strings.Join(r.trace, "\n"))
		}
		b.ids = r.stepIDs
		r.stop()
	})
	for vmid, g := range b.world.guests {
		for slot, text := range mapOfSlots(g.keys) {
			b.data[fmt.Sprintf("%d %s", vmid, slot)] = volumeOf(text)
		}
	}
	b.files = readFiles(t, dir)
	return b
}

func (s *scenario) newRun(w *world, dir string, ids int) *run {
	return &run{
		scenario: s, world: w, dir: dir, stepIDs: ids, turns: map[object.Key]*turn{}, failed: map[object.Key]error{}, used: map[string]bool{}, effects: map[string]int{},
		data: map[string]string{}, gone: map[int]bool{}, refused: map[object.Key]bool{},
	}
}

// path runs one path from the beginning and returns it with its options.
func (s *scenario) path(t *testing.T, b beginning, dir string, choices, widths []int, visited map[uint64]bool) (r *run, options []int, pruned bool) {
	writeFiles(t, dir, b.files)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour) // the beginning took its time too
		r = s.newRun(b.world.clone(), dir, b.ids)
		r.data = b.data
		if err := r.start(); err != nil {
			t.Fatal(err)
		}
		if err := r.process.accept(s.first); err != nil {
			t.Fatal(err)
		}
		options, pruned = r.explore(choices, widths, visited)
		if !pruned {
			r.finish()
			r.end = r.hash()
		}
		r.stop()
	})
	return r, options, pruned
}

// found is the result of a search.
type found struct {
	paths, pruned, states int
	violation             string
	choices               []int
	trace                 []string
	complete              bool
	ends                  map[uint64]bool // the states at the ends of paths
}

// search runs every path, depth first, until one violates an invariant or until limit paths were run; 0 is no limit. With visited, it leaves out what
// follows a state that is in visited.
func (s *scenario) search(t *testing.T, limit int, visited map[uint64]bool) found {
	b := s.begin(t)
	dir := scratch(t)
	f := found{ends: map[uint64]bool{}}
	var widths []int
	for choices := []int{}; ; {
		r, options, pruned := s.path(t, b, dir, choices, widths, visited)
		widths = options
		f.paths++
		if pruned {
			f.pruned++
		} else {
			f.ends[r.end] = true
		}
		f.states = len(visited)
		if r.violation != "" {
			f.violation, f.trace = r.violation, r.trace
			f.choices = append(choices, make([]int, max(0, len(options)-len(choices)))...)
			return f
		}
		choices = append(choices, make([]int, max(0, len(options)-len(choices)))...)[:len(options)]
		for len(choices) > 0 && choices[len(choices)-1]+1 >= options[len(choices)-1] {
			choices = choices[:len(choices)-1]
		}
		if len(choices) == 0 {
			f.complete = true
			return f
		}
		choices[len(choices)-1]++
		choices = slices.Clone(choices)
		if limit > 0 && f.paths >= limit {
			return f
		}
	}
}

// scratch returns a directory for a journal, in memory if the machine has one: a path syncs the journal many times.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "model") //nolint:usetesting // the directory of a test is on a disk
	if err != nil {
		return filepath.Join(t.TempDir(), "journal")
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "journal")
}

func readFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = data
	}
	return files
}

func writeFiles(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (f found) print(out io.Writer, name string) {
	_, _ = fmt.Fprintf(out, "model: %s: %d paths, %d of them end in a known state, %d states, complete %t\n", name, f.paths, f.pruned, f.states, f.complete)
}
