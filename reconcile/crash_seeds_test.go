package reconcile_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
)

// .ci/long runs thousands of these histories, in several processes.
var crashSeeds = newSeeds("crash", 6, "random histories with crashes")

// randomCrashCluster is a cluster whose agent crashes at one call, counted from the start of the agent.
type randomCrashCluster struct {
	cluster.Cluster
	at      string       // before-call, after-call or waiting
	left    atomic.Int64 // calls until the crash
	waiting atomic.Bool  // the call was dispatched, and its task is waited for
	crashed atomic.Bool
}

func (m *randomCrashCluster) crash() {
	m.crashed.Store(true)
	panic("the agent crashes here")
}

func (m *randomCrashCluster) Do(ctx context.Context, call cluster.Call, check cluster.LastCheck) (string, error) {
	if m.left.Add(-1) != 0 {
		return m.Cluster.Do(ctx, call, check)
	}
	if m.at == "before-call" {
		m.crash()
	}
	upid, err := m.Cluster.Do(ctx, call, check)
	if m.at == "after-call" {
		m.crash()
	}
	m.waiting.Store(true)
	return upid, err
}

func (m *randomCrashCluster) Wait(ctx context.Context, upid string) (cluster.Task, error) {
	if m.waiting.Swap(false) {
		m.crash()
	}
	return m.Cluster.Wait(ctx, upid)
}

// history is a random sequence of changes.
type history struct {
	rng     *rand.Rand
	cores   int
	running bool
	present map[string]bool // files that were added; a file that was removed stays removed
}

// temporaryGuests are guests that a history may add once and remove once.
var temporaryGuests = map[string]struct {
	vmid int
	made pvesim.Op
	yaml string
}{
	"db.yaml":  {202, pvesim.Cloned, vmYAML("db-1", 202, "lifecycle: {destroy: allow}")},
	"dns.yaml": {210, pvesim.Created, dnsYAML("lifecycle: {destroy: allow}")},
}

// change changes the manifests at random.
func (h *history) change(l *lab) {
	switch file := []string{"db.yaml", "dns.yaml", "web.yaml", "web.yaml"}[h.rng.IntN(4)]; {
	case file == "web.yaml" && h.rng.IntN(2) == 0:
		h.running = !h.running
	case file == "web.yaml":
		h.cores = 1 + h.rng.IntN(4)
	default:
		guest := temporaryGuests[file]
		there, added := h.present[file]
		switch {
		case !added:
			l.files[file] = guest.yaml
			h.present[file] = true
		case there:
			delete(l.files, file)
			h.present[file] = false
		}
	}
	state := "stopped"
	if h.running {
		state = "running"
	}
	l.files["web.yaml"] = vmYAML("web-1", 201, "state: "+state, fmt.Sprintf("cpu: {cores: %d}", h.cores), "lifecycle: {rebootPolicy: auto}")
}

// TestCrashSeeds runs random histories: in each of four runs of the agent the manifests change and the agent crashes at a random call. A last run
// must converge, with no open step, no guest created or destroyed twice, and no rule of the simulator broken.
func TestCrashSeeds(t *testing.T) {
	t.Parallel()
	var crashes atomic.Int64
	crashSeeds.each(t, func(t *testing.T, seed uint64) {
		runLab(t, nil, func(_ *testing.T, l *lab) { crashes.Add(l.runHistory(seed)) })
	}, func(t *testing.T) string {
		if got := crashes.Load(); got < int64(*crashSeeds.count) {
			t.Errorf("got %d crashes in %d histories, want as many or more", got, *crashSeeds.count)
		}
		return fmt.Sprintf("%d crashes", crashes.Load())
	})
}

// runHistory runs the history of a seed and returns how often the agent crashed in it.
func (l *lab) runHistory(seed uint64) (crashes int64) {
	h := &history{rng: rand.New(rand.NewPCG(seed, 1)), cores: 1, present: map[string]bool{}}
	l.files["cluster.yaml"] = clusterYAML + "  guards: {maxDestroysPerDay: 50}\n" // a repeated destroy counts again
	l.files["web.yaml"] = vmYAML("web-1", 201)
	l.files["keep.yaml"] = vmYAML("keep-1", 209)
	plain := l.cluster
	for run := range 4 {
		h.change(l)
		h.change(l)
		l.push(fmt.Sprintf("run %d", run), alice)
		m := &randomCrashCluster{Cluster: plain, at: []string{"before-call", "after-call", "waiting"}[h.rng.IntN(3)]}
		m.left.Store(1 + h.rng.Int64N(4))
		l.opts.Cluster = m
		stop := l.start()
		eventually(l, "a crash or convergence", func() bool {
			r := l.engine.Report()
			return m.crashed.Load() || r.Converged && r.Source.Accepted != nil && r.Source.Accepted.Commit == l.repo.Tip
		})
		time.Sleep(time.Duration(h.rng.Int64N(int64(time.Minute))))
		stop()
		if m.crashed.Load() {
			crashes++
		}
	}
	l.opts.Cluster = plain
	stop := l.start()
	l.converge()
	time.Sleep(time.Minute)
	if open := l.journal.State().Open; len(open) != 0 {
		l.Errorf("seed %d: got open steps %+v after recovery, want none", seed, open)
	}
	stop()
	if got := l.sim.Effects(201, pvesim.Cloned); got != 1 {
		l.Errorf("seed %d: got %d clones of guest 201, want 1", seed, got)
	}
	for file, guest := range temporaryGuests {
		made, destroyed := l.sim.Effects(guest.vmid, guest.made), l.sim.Effects(guest.vmid, pvesim.Destroyed)
		switch there, added := h.present[file]; {
		case there && (made != 1 || destroyed != 0):
			l.Errorf("seed %d: got guest %d made %d times and destroyed %d times, want it made once", seed, guest.vmid, made, destroyed)
		case added && !there && (made > 1 || destroyed != made): // it may be removed from the manifests before a run of the agent applies it
			l.Errorf("seed %d: got guest %d made %d times and destroyed %d times, want both once or neither", seed, guest.vmid, made, destroyed)
		case !added && made != 0:
			l.Errorf("seed %d: got guest %d made %d times, want none", seed, guest.vmid, made)
		}
	}
	if h.running != l.sim.Running(201) {
		l.Errorf("seed %d: got guest 201 running %t, want %t", seed, l.sim.Running(201), h.running)
	}
	if v := l.sim.Violations(); len(v) != 0 {
		l.Errorf("seed %d: got violations %v, want none", seed, v)
	}
	return crashes
}
