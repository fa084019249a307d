//go:build integration

package ha

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gitops-agent/internal/etcdtest"
	"gitops-agent/internal/pvesim"
)

var (
	seeds = flag.Int("ha-seeds", 20, "worlds to run")
	first = flag.Uint64("ha-first", 1, "seed of the first world")
)

// TestMain runs the worlds at the same time, because they mostly wait.
func TestMain(m *testing.M) {
	flag.Parse()
	if !slices.ContainsFunc(os.Args, func(arg string) bool {
		return arg == "-test.parallel" || len(arg) > 15 && arg[:15] == "-test.parallel="
	}) {
		_ = flag.Set("test.parallel", "20")
	}
	var err error
	if builder.dir, err = os.MkdirTemp("", "gitops-agent-ha"); err != nil {
		panic(err)
	}
	m.Run()
	_ = os.RemoveAll(builder.dir)
}

// disturbance is what happens to the leader, and how it ends. It returns a function that ends it.
type disturbance struct {
	name    string
	begin   func(w *world, leader *agent) (end func())
	changes bool // the leader
	brief   bool // it ends before the next change
}

var disturbances = []disturbance{
	{"killed", func(w *world, leader *agent) func() {
		w.signal(leader, syscall.SIGKILL)
		w.end(leader)
		return func() { w.start(leader) }
	}, true, false},
	{"stopped", func(w *world, leader *agent) func() {
		w.signal(leader, syscall.SIGSTOP)
		return func() { w.signal(leader, syscall.SIGCONT) }
	}, true, false},
	{"stopped at a record", func(w *world, leader *agent) func() {
		awaitRecord(w.etcd.Client(w), w.prefix, 2*time.Second)
		w.signal(leader, syscall.SIGSTOP)
		return func() { w.signal(leader, syscall.SIGCONT) }
	}, true, false},
	{"stopped after its last check", func(w *world, leader *agent) func() {
		release := w.calls.holdCalls(leader.name)
		for began := time.Now(); w.calls.holds() == 0 && time.Since(began) < 3*time.Second; {
			time.Sleep(10 * time.Millisecond)
		}
		w.signal(leader, syscall.SIGSTOP)
		return func() {
			release() // these calls act although another agent leads
			time.Sleep(time.Second)
			w.signal(leader, syscall.SIGCONT)
		}
	}, true, false},
	{"cut off from etcd", func(w *world, leader *agent) func() {
		for _, p := range leader.proxies {
			p.Cut()
		}
		return func() {
			for _, p := range leader.proxies {
				p.Heal()
			}
		}
	}, true, false},
	{"ended", func(w *world, leader *agent) func() {
		w.signal(leader, syscall.SIGTERM)
		w.end(leader)
		return func() { w.start(leader) }
	}, true, false},
	{"without a member of etcd", func(w *world, leader *agent) func() {
		leader.proxies[0].Cut()
		return leader.proxies[0].Heal
	}, false, false},
	{"with a slow member of etcd", func(w *world, _ *agent) func() {
		for _, a := range w.agents {
			a.proxies[0].Delay(400 * time.Millisecond)
		}
		return func() {
			for _, a := range w.agents {
				a.proxies[0].Heal()
			}
		}
	}, false, false},
	{"cut off from the cluster", func(_ *world, leader *agent) func() {
		leader.api.Cut()
		return leader.api.Heal
	}, false, true},
}

// totals are the counts over all worlds.
type totals struct {
	mu        sync.Mutex
	takeovers map[string][]time.Duration
	effects   int
	quiet     int            // takeovers with open steps, whose guests were left alone
	inDoubt   int            // guests whose last step had no reply, and that wait
	worlds    map[string]int // by disturbance, like late
	late      map[string]int // calls of an agent after the election of another one, by disturbance
}

// TestReplicas disturbs the leader while it works, once in each world, and compares the effects with those of a world without a disturbance.
func TestReplicas(t *testing.T) {
	t.Parallel()
	program := build(t)
	etcd := etcdtest.Start(t, 3)
	want, _ := story(newWorld(t, program, etcd, "undisturbed"), nil, nil)
	total := &totals{takeovers: map[string][]time.Duration{}, worlds: map[string]int{}, late: map[string]int{}}
	t.Run("seeds", func(t *testing.T) {
		for i := range *seeds {
			seed := *first + uint64(i)
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(seed, 19))
				d := disturbances[seed%uint64(len(disturbances))]
				w := newWorld(t, program, etcd, fmt.Sprintf("seed-%d", seed))
				got, inDoubt := story(w, func() func() {
					time.Sleep(time.Duration(rng.IntN(2500)) * time.Millisecond)
					leader, number := w.leader()
					if leader == nil {
						t.Fatal("nobody leads")
					}
					began := time.Now()
					end := d.begin(w, leader)
					if d.changes {
						w.await("another leader", func() bool { _, now := w.leader(); return now > number })
						total.mu.Lock()
						total.takeovers[d.name] = append(total.takeovers[d.name], time.Since(began))
						total.mu.Unlock()
					} else {
						time.Sleep(5 * time.Second)
					}
					if d.brief {
						end()
						return func() {}
					}
					return end
				}, total)
				late := w.checkLate()
				total.mu.Lock()
				total.worlds[d.name]++
				total.late[d.name] += late
				total.mu.Unlock()
				for _, vmid := range slices.Sorted(maps.Keys(want)) {
					more := slices.ContainsFunc(slices.Collect(maps.Keys(got[vmid])), func(op pvesim.Op) bool { return got[vmid][op] > want[vmid][op] })
					if more || inDoubt == 0 && !maps.Equal(want[vmid], got[vmid]) {
						t.Errorf("%s: got the effects %v on guest %d, want %v", d.name, got[vmid], vmid, want[vmid])
					}
				}
				if len(got) > len(want) || inDoubt == 0 && len(got) < len(want) {
					t.Errorf("%s: got %d guests with effects, want %d", d.name, len(got), len(want))
				}
			})
		}
	})
	for _, name := range slices.Sorted(maps.Keys(total.takeovers)) {
		took := total.takeovers[name]
		slices.Sort(took)
		t.Logf("leader %s: %d takeovers, median %s, maximum %s", name, len(took), took[len(took)/2].Round(10*time.Millisecond), took[len(took)-1].Round(10*time.Millisecond))
	}
	for _, name := range slices.Sorted(maps.Keys(total.worlds)) {
		t.Logf("leader %s: %d worlds, %d late calls", name, total.worlds[name], total.late[name])
	}
	t.Logf("%d worlds, %d effects compared, %d takeovers with open steps, %d guests in doubt at the end", *seeds, total.effects, total.quiet, total.inDoubt)
}

// build builds the program, once for all tests.
func build(t *testing.T) string {
	t.Helper()
	builder.Do(func() {
		builder.program = filepath.Join(builder.dir, "gitops-agent")
		builder.out, builder.err = exec.Command("go", "build", "-o", builder.program, "gitops-agent/cmd/gitops-agent").CombinedOutput()
	})
	if builder.err != nil {
		t.Fatalf("%v: %s", builder.err, builder.out)
	}
	return builder.program
}

var builder struct {
	sync.Once
	dir, program string
	out          []byte
	err          error
}

const clusterManifest = "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 201, to: 999}, guards: {maxDestroysPerDay: 100}}\n"

// story lets two agents carry out two commits, with a disturbance after the first, and returns the effects on each guest.
func story(w *world, disturb func() func(), total *totals) (effects map[int]map[pvesim.Op]int, inDoubt int) {
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
	end := func() {}
	if disturb != nil {
		end = disturb()
	}
	w.machine(607, 512, "running")
	w.push("one more")
	if disturb != nil {
		w.await("the other agent works", func() bool { return w.sim.Effects(607, pvesim.Created) > 0 })
	}
	end()
	inDoubt = w.awaitConverged()
	w.checkJournal(inDoubt)
	quiet := 0
	for _, a := range w.agents {
		log, err := os.ReadFile(a.log)
		w.ok(err)
		quiet += strings.Count(string(log), "of the agent before are left alone")
	}
	if violations := w.sim.Violations(); len(violations) > 0 {
		w.Error(violations)
	}
	effects = w.sim.Counters().Effects
	if total != nil {
		total.mu.Lock()
		defer total.mu.Unlock()
		total.quiet += quiet
		total.inDoubt += inDoubt
		for _, ops := range effects {
			for _, n := range ops {
				total.effects += n
			}
		}
	}
	return effects, inDoubt
}
