//go:build integration

package crash

import (
	"bufio"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	soakTime = flag.Duration("soak", 8*time.Second, "how long the soak runs")
	soakStep = flag.Duration("soak-step", 2*time.Hour, "virtual time between two pushes of the soak")
)

// usage is what an agent uses at one time.
type usage map[string]float64

// soakGrowth is how much each kind of usage may grow between the second quarter of a soak and its last. What an agent keeps for days, such as the history in
// the journal, has a bound in place of a growth. An operation that occurs for the first time adds series.
var soakGrowth = map[string]float64{"goroutines": 8, "descriptors": 8, "series": 100, "memory in MiB": 24}

var soakBounds = map[string]float64{"journal in MiB": 20, "files of the repository": 950}

// TestSoak runs the agent for a long virtual time in which people push, edit and switch guests: what the agent uses stays the same.
func TestSoak(t *testing.T) {
	w := newWorld(t, buildPrograms(t), 1, &totals{changes: map[string]int{}})
	for range 4 {
		w.create(sources[w.rng.IntN(2)])
	}
	w.push("the guests")
	w.settle()
	var samples []usage
	pushes, began := 0, w.clock.Wall
	for end := time.Now().Add(*soakTime); time.Now().Before(end) || len(samples) < 8; pushes++ {
		for _, g := range w.guests {
			g.changed = false
		}
		did := changes["description"](w) + changes["edit by hand"](w)
		if pushes%10 == 0 {
			did += changes["power"](w)
		}
		w.push(did)
		w.history = nil // a soak fails by numbers
		w.settle()
		w.pass(*soakStep)
		samples = append(samples, w.usage())
	}
	quarter := len(samples) / 4
	before, after := median(samples[quarter:2*quarter]), median(samples[3*quarter:])
	fmt.Fprintf(os.Stderr, "soak: %s of virtual time in %s, %d pushes\n", (w.clock.Wall - began).Round(time.Hour), *soakTime, pushes)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		fmt.Fprintf(os.Stderr, "soak: %s: %.1f in the second quarter, %.1f in the last\n", name, before[name], after[name])
		if bound, ok := soakBounds[name]; ok && after[name] > bound {
			t.Errorf("%s: got %.1f, want at most %.1f", name, after[name], bound)
		}
		if growth, ok := soakGrowth[name]; ok && after[name] > before[name]+growth {
			t.Errorf("%s: got %.1f in the second quarter and %.1f in the last, want no growth", name, before[name], after[name])
		}
	}
}

// median returns the median of each kind of usage.
func median(samples []usage) usage {
	m := usage{}
	for name := range samples[0] {
		var values []float64
		for _, s := range samples {
			values = append(values, s[name])
		}
		slices.Sort(values)
		m[name] = values[len(values)/2]
	}
	return m
}

// usage measures the agent.
func (w *world) usage() usage {
	w.Helper()
	a := w.agents[0]
	u := usage{"journal in MiB": w.bytes(a.journal()) / (1 << 20), "files of the repository": 0}
	w.ok(filepath.WalkDir(filepath.Join(a.state, "repository"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			u["files of the repository"]++
		}
		return nil // a file that is removed meanwhile
	}))
	descriptors, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", a.cmd.Process.Pid))
	w.ok(err)
	u["descriptors"] = float64(len(descriptors))
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.cmd.Process.Pid))
	w.ok(err)
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		w.Fatalf("read the memory of the agent: %v", err)
	}
	u["memory in MiB"] = kib / 1024
	resp, err := http.Get("http://" + a.address + "/metrics")
	w.ok(err)
	defer func() { _ = resp.Body.Close() }()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if !strings.HasPrefix(name, "#") {
			u["series"]++
		}
		if name == "go_goroutines" {
			u["goroutines"], err = strconv.ParseFloat(value, 64)
			w.ok(err)
		}
	}
	return u
}

// bytes returns the size of the files in a folder.
func (w *world) bytes(dir string) (total float64) {
	w.Helper()
	entries, err := os.ReadDir(dir)
	w.ok(err)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			total += float64(info.Size())
		}
	}
	return total
}
