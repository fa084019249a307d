//go:build integration

package observability

import (
	"flag"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gitops-agent/internal/promtest"
)

var (
	onlyWorld   = flag.String("world", "", "run only the worlds with these names, separated by commas, and evaluate nothing afterwards")
	pictureFile = flag.String("picture", "", "write a picture of panels to this file, with Chromium")
	atOnce      = flag.Int("worlds", 5, "how many worlds run at the same time")
)

// scenarios are the worlds: what happens in each, and how many members of its cluster the agent knows.
var scenarios = []struct {
	name    string
	run     func(*world)
	members int
}{
	{"guests", guests, 1},
	{"lifecycle", lifecycle, 1},
	{"disk", disk, 1},
	{"source", source, 1},
	{"cluster", cluster, 2},
	{"rollouts", rollouts, 1},
	{"replicas", replicas, 1},
	{"promotion", promotion, 1},
}

// TestObservability causes every alert with a real fault, and sees it fire and resolve. Then it evaluates all queries of rules and dashboards.
func TestObservability(t *testing.T) {
	b := &bench{pager: newPager(t), agent: filepath.Join(t.TempDir(), "gitops-agent")}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", b.agent, "gitops-agent/cmd/gitops-agent").CombinedOutput(); err != nil {
		t.Fatalf("build the agent: %v\n%s", err, out)
	}
	files := promtest.ReadRules(t, "../../metrics/rules")
	alerts := promtest.AlertNames(files)
	b.prometheus = startPrometheus(t, files, b.pager.address())

	var (
		running sync.WaitGroup
		mu      sync.Mutex
	)
	worlds := map[string]*world{}
	free := make(chan struct{}, *atOnce)
	for _, s := range scenarios {
		if *onlyWorld != "" && !slices.Contains(strings.Split(*onlyWorld, ","), s.name) {
			continue
		}
		running.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			t.Run(s.name, func(t *testing.T) {
				w := newWorld(t, b, s.members)
				mu.Lock()
				worlds[s.name] = w
				mu.Unlock()
				s.run(w)
				w.ended = time.Now()
			})
		})
	}
	running.Wait()

	fired, resolved := b.pager.fired, b.pager.resolved
	t.Logf("observability: %d of %d alerts fired, %d resolved", len(fired), len(alerts), len(resolved))
	if *onlyWorld != "" {
		return
	}
	for _, name := range alerts {
		if !fired[name] || !resolved[name] {
			t.Errorf("%s: got fired %t and resolved %t, want both", name, fired[name], resolved[name])
		}
	}
	if t.Failed() {
		return // the data of a world that failed is not complete
	}
	end := time.Now()
	checkRules(t, b.prometheus, promtest.ReadRules(t, "../../metrics/rules"), end)
	dashboards := promtest.ReadDashboards(t, "../../metrics/grafana")
	evaluateDashboards(t, b.prometheus, dashboards, end)
	if page := draw(t, b.prometheus, dashboards, worlds); *pictureFile != "" {
		screenshot(t, page, *pictureFile)
	}
}
