//go:build integration

package ha

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gitops-agent/internal/etcdtest"
	"gitops-agent/internal/gooverlay"
	_ "gitops-agent/internal/memtemp"
	"gitops-agent/internal/pvesim"
)

var (
	seeds = flag.Int("ha-seeds", len(disturbances), "worlds to run")
	first = flag.Uint64("ha-first", 1, "seed of the first world")
	waits = flag.Bool("ha-settle", false, "let ten minutes pass for guests whose last call had no reply")
)

// TestMain runs the worlds at the same time, because they mostly wait.
func TestMain(m *testing.M) {
	flag.Parse()
	if !slices.ContainsFunc(os.Args, func(arg string) bool {
		return arg == "-test.parallel" || len(arg) > 15 && arg[:15] == "-test.parallel="
	}) {
		_ = flag.Set("test.parallel", "24")
	}
	var err error
	if builder.dir, err = os.MkdirTemp("", "gitops-agent-ha"); err != nil {
		panic(err)
	}
	m.Run()
	_ = os.RemoveAll(builder.dir)
}

// totals are the counts over all worlds.
type totals struct {
	mu        sync.Mutex
	worlds    map[string]int             // by disturbance, like the next two
	takeovers map[string][]time.Duration // from the disturbance to the next leader
	late      map[string]int             // calls of an agent after the election of another one
	counts    map[string]int             // of what was done
	effects   int
	twice     int // effects that happened more often than in a world without a disturbance
	missing   int // effects that did not happen
	quiet     int // takeovers with open steps, whose guests were left alone
	inDoubt   int // guests whose last step had no reply, and that wait
}

// TestReplicas disturbs agents and etcd while the leader works, in one way in each world, and compares the effects with those of a world without a disturbance.
func TestReplicas(t *testing.T) {
	t.Parallel()
	program := build(t)
	etcd := etcdtest.Start(t, 3)
	undisturbed := newWorld(t, program, etcd, "undisturbed", 0)
	undisturbed.story(disturbance{})
	want := undisturbed.sim.Counters().Effects
	total := &totals{takeovers: map[string][]time.Duration{}, worlds: map[string]int{}, late: map[string]int{}, counts: map[string]int{}}
	t.Run("seeds", func(t *testing.T) {
		for i := range *seeds {
			seed := *first + uint64(i)
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				d := disturbances[seed%uint64(len(disturbances))]
				shared := etcd
				if d.etcd {
					shared = etcdtest.Start(t, 3)
				}
				w := newWorld(t, program, shared, fmt.Sprintf("seed-%d", seed), seed)
				inDoubt := w.story(d)
				total.add(w, d.name, inDoubt, w.checkLate(), want)
			})
		}
	})
	total.print(t)
}

// add adds the counts of a world, and compares its effects with those that are wanted.
func (total *totals) add(w *world, name string, inDoubt, late int, want map[int]map[pvesim.Op]int) {
	w.Helper()
	total.mu.Lock()
	defer total.mu.Unlock()
	total.worlds[name]++
	total.takeovers[name] = append(total.takeovers[name], w.took...)
	total.late[name] += late
	for what, n := range w.counts {
		total.counts[what] += n
	}
	total.inDoubt += inDoubt
	for _, a := range w.agents {
		log, err := os.ReadFile(a.log)
		w.ok(err)
		total.quiet += strings.Count(string(log), "of the agent before are left alone")
	}
	effects := w.sim.Counters().Effects
	for vmid := range effects {
		if want[vmid] == nil {
			want[vmid] = map[pvesim.Op]int{}
		}
	}
	for _, vmid := range slices.Sorted(maps.Keys(want)) {
		ops := maps.Clone(want[vmid])
		maps.Copy(ops, effects[vmid])
		more, less := 0, 0
		for op := range ops {
			total.effects += effects[vmid][op]
			more += max(0, effects[vmid][op]-want[vmid][op])
			less += max(0, want[vmid][op]-effects[vmid][op])
		}
		if total.twice += more; inDoubt == 0 {
			total.missing += less
		}
		if more > 0 || inDoubt == 0 && less > 0 {
			w.Errorf("%s: got the effects %v on guest %d, want %v", name, effects[vmid], vmid, want[vmid])
		}
	}
}

// print prints the counts.
func (total *totals) print(t *testing.T) {
	var all []time.Duration
	for _, name := range slices.Sorted(maps.Keys(total.worlds)) {
		line := fmt.Sprintf("%s: %d worlds, %d late calls", name, total.worlds[name], total.late[name])
		if took := total.takeovers[name]; len(took) > 0 {
			line += ", takeovers " + spread(took)
		}
		t.Log(line)
		if name != "leader ended" && !strings.HasPrefix(name, "standby") && !strings.Contains(name, "of the standby") {
			all = append(all, total.takeovers[name]...)
		}
	}
	if len(all) > 0 {
		t.Logf("takeovers of a leader that did not end by itself: %s", spread(all))
	}
	for _, what := range slices.Sorted(maps.Keys(total.counts)) {
		t.Logf("%s: %d", what, total.counts[what])
	}
	t.Logf("%d worlds, %d effects compared: %d twice, %d missing; %d takeovers with open steps, %d guests in doubt at the end",
		*seeds, total.effects, total.twice, total.missing, total.quiet, total.inDoubt)
}

// spread returns the number, the median and the maximum of durations.
func spread(took []time.Duration) string {
	slices.Sort(took)
	return fmt.Sprintf("%d, median %s, maximum %s", len(took), took[len(took)/2].Round(10*time.Millisecond), took[len(took)-1].Round(10*time.Millisecond))
}

// build builds the program with a clock that tests set, once for all tests.
func build(t testing.TB) string {
	t.Helper()
	builder.Do(func() {
		gooverlay.BuildWithClock(t, builder.dir, map[string]string{}, "gitops-agent/cmd/gitops-agent")
		builder.program = filepath.Join(builder.dir, "gitops-agent")
	})
	if builder.program == "" {
		t.Fatal("the program was not built")
	}
	return builder.program
}

var builder struct {
	sync.Once
	dir, program string
}

const clusterManifest = "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 201, to: 999}, guards: {maxDestroysPerDay: 100}}\n"

// story lets two agents carry out two commits, with a disturbance after the first. It returns how many guests wait at the end because their last call had no
// reply.
func (w *world) story(d disturbance) (inDoubt int) {
	w.Helper()
	w.repo.Files["cluster.yaml"] = clusterManifest
	w.machine(601, 512, "running")
	w.machine(602, 512, "stopped") // so that it is destroyed by one call
	w.push("two guests")
	for _, a := range w.agents {
		w.start(a)
	}
	w.awaitConverged()

	w.machine(601, 768, "running")
	for vmid := 603; vmid <= 606; vmid++ {
		w.machine(vmid, 512, "running")
	}
	delete(w.repo.Files, "vm-602.yaml")
	w.push("four more guests, one changed, one destroyed")
	end := w.disturb(d)
	_, number := w.leader()
	w.machine(607, 512, "running")
	w.push("one more")
	if d.begin != nil {
		w.await("the next change", func() bool { return w.sim.Effects(607, pvesim.Created) > 0 })
	}
	if _, now := w.leader(); d.standby && now != number {
		w.Errorf("got election %d while the standby was disturbed, want none after %d", now, number)
	}
	end()
	if d.standby {
		w.handOver()
	}
	inDoubt = w.awaitConverged()
	if inDoubt > 0 && *waits {
		w.count("guests in doubt that were settled", inDoubt)
		w.settle()
		inDoubt = 0
	}
	w.awaitFollowers(inDoubt)
	for _, a := range w.agents {
		w.checkReady(a, http.StatusOK)
	}
	w.checkJournal(inDoubt)
	if violations := w.sim.Violations(); len(violations) > 0 {
		w.Error(violations)
	}
	return inDoubt
}

// disturb begins a disturbance at a random instant, and returns what ends it.
func (w *world) disturb(d disturbance) (end func()) {
	w.Helper()
	if d.begin == nil {
		return func() {}
	}
	time.Sleep(time.Duration(w.rng.IntN(2500)) * time.Millisecond)
	leader, _ := w.leader()
	if leader == nil {
		w.Fatal("no agent leads")
	}
	end = d.begin(w, leader, w.other(leader))
	if len(w.took) == 0 {
		time.Sleep(5 * time.Second)
	}
	if d.brief {
		end()
		return func() {}
	}
	return end
}
