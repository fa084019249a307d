package metrics_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"pgregory.net/rapid"

	"gitops-agent/metrics"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// newMetrics returns metrics and their registry, which checks every name and label.
func newMetrics(t *testing.T) (*metrics.Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	return metrics.New(registry, metrics.Build{Version: "1.2.3", Commit: "abcdef0", GoVersion: "go1.26.8"}, reasons()), registry
}

// scrape returns the text that Prometheus reads.
func scrape(t *testing.T, registry *prometheus.Registry) string {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("got status %d, want 200: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// series returns every series of a scrape, without its value.
func series(t *testing.T, registry *prometheus.Registry) []string {
	t.Helper()
	var list []string
	for line := range strings.Lines(scrape(t, registry)) {
		if !strings.HasPrefix(line, "#") {
			list = append(list, line[:strings.LastIndex(line, " ")])
		}
	}
	return list
}

func TestExposition(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	recordConvergence(m)
	got := scrape(t, registry)
	const golden = "testdata/exposition.golden.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("exposition (-want +got; -update rewrites it):\n%s", diff)
	}
}

func TestExpositionFollowsConventions(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	recordConvergence(m)
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestEverySeriesExistsFromTheStart(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	start := series(t, registry)
	recordEveryLabelValue(m)
	if diff := cmp.Diff(start, series(t, registry)); diff != "" {
		t.Errorf("series after every label value was used (-at the start +now):\n%s", diff)
	}
}

func TestSeriesStartAtZero(t *testing.T) {
	t.Parallel()
	_, registry := newMetrics(t)
	for line := range strings.Lines(scrape(t, registry)) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		one := []string{
			`gitops_agent_build_info{commit="abcdef0",goversion="go1.26.8",version="1.2.3"}`,
			`gitops_agent_writes_allowed{reason="no-revision"}`,
			`gitops_agent_leader`, // an agent without others leads
			`gitops_agent_replicas`,
		}
		if strings.HasPrefix(line, "#") || slices.Contains(one, series) {
			continue
		}
		if value != "0" {
			t.Errorf("got %s %s before anything happened, want 0", series, value)
		}
	}
}

func TestGuestThatLeavesHasNoSeries(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	of := func(vmid string) []string {
		return slices.DeleteFunc(series(t, registry), func(s string) bool { return !strings.Contains(s, `vmid="`+vmid+`"`) })
	}
	m.Report(sampleReport())
	if got := len(of("307")); got != 8 {
		t.Errorf("got %d series of the guest, want 8", got)
	}
	r := sampleReport()
	r.Guests = slices.DeleteFunc(r.Guests, func(g report.Guest) bool { return g.VMID == 307 })
	m.Report(r)
	if got := of("307"); len(got) != 0 {
		t.Errorf("got %v of a guest that left the report, want none", got)
	}
	if got := len(of("211")); got != 8 {
		t.Errorf("got %d series of a guest that stays, want 8", got)
	}
}

func TestSeriesAreBounded(t *testing.T) {
	t.Parallel()
	const guests, routes = 50, 24
	m, registry := newMetrics(t)
	recordConvergence(m)
	recordEveryLabelValue(m)
	for i := range 700 {
		for _, method := range []string{"GET", "BREW"} {
			m.Request(cluster.Exchange{Method: method, Route: fmt.Sprintf("/route/%d", i%(routes/2)), Code: fmt.Sprint(100 + i)})
		}
	}
	var r report.Report
	for i := range guests {
		r.Guests = append(r.Guests, report.Guest{GuestName: report.GuestName{Kind: guest.Container, VMID: 100 + i}, Sync: report.Synced})
	}
	r.Source = sampleReport().Source
	m.Report(r)
	own, others := 0, 0
	for _, s := range series(t, registry) {
		if strings.Contains(s, `vmid="`) {
			own++
		} else {
			others++
		}
	}
	if own != 8*guests {
		t.Errorf("got %d series for %d guests, want 8 each", own, guests)
	}
	if others > 1850 {
		t.Errorf("got %d series that do not belong to a guest, want 1,850 at most", others)
	}
	t.Logf("%d series that do not belong to a guest", others)
}

// Guests come and go at random, also with the vmids of others before them. The number of series depends on the present guests alone.
func TestSeriesWhileGuestsComeAndGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		registry := prometheus.NewPedanticRegistry()
		m := metrics.New(registry, metrics.Build{}, reasons())
		count := func() int {
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, f := range families {
				n += len(f.GetMetric())
			}
			return n
		}
		m.Report(report.Report{Cluster: "home"})
		empty := count()
		for range rapid.IntRange(1, 8).Draw(t, "cycles") {
			vmids := rapid.SliceOfN(rapid.IntRange(0, 30), 0, 40).Draw(t, "vmids") // 0 and a vmid that occurs twice have no series
			r := report.Report{Cluster: "home"}
			distinct := map[int]bool{}
			for i, vmid := range vmids {
				r.Guests = append(r.Guests, report.Guest{GuestName: report.GuestName{Kind: guest.Container, Name: fmt.Sprint("guest-", i), VMID: vmid}, Sync: report.Synced})
				distinct[vmid] = vmid != 0
			}
			m.Report(r)
			delete(distinct, 0)
			if got, want := count(), empty+8*len(distinct); got != want {
				t.Fatalf("got %d series with guests %v, want %d", got, vmids, want)
			}
		}
		m.Report(report.Report{Cluster: "home"})
		if got := count(); got != empty {
			t.Fatalf("got %d series after all guests have gone, want %d", got, empty)
		}
	})
}

func TestRequestKeepsLabelsClosed(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	m.Request(cluster.Exchange{Method: "GET", Route: "/version", Code: "200"})
	start := series(t, registry)
	m.Request(cluster.Exchange{Method: "GET", Route: "/version", Code: "596"})
	m.Request(cluster.Exchange{Method: "GET", Route: "/version", Code: "418"})
	m.Request(cluster.Exchange{Method: "GET", Route: "/version", Code: "none"})
	m.Request(cluster.Exchange{Method: "GET", Route: "/version", Code: ""})
	if diff := cmp.Diff(start, series(t, registry)); diff != "" {
		t.Errorf("series after unusual codes (-want +got):\n%s", diff)
	}
	got := scrape(t, registry)
	for _, want := range []string{`code="596",method="GET",route="/version"} 1`, `code="other",method="GET",route="/version"} 2`} {
		if !strings.Contains(got, want) {
			t.Errorf("got no %s", want)
		}
	}
}

func TestScrapeWithInvalidAndDuplicateNames(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	twin := report.Guest{GuestName: report.GuestName{Kind: guest.Container, VMID: 101, Name: "bad\xffname", Node: "\xff"}, Sync: report.Synced}
	other := twin
	other.Name = "twin"
	unassigned := report.Guest{GuestName: report.GuestName{Kind: guest.Container}, Sync: report.OutOfSync}
	m.Report(report.Report{Guests: []report.Guest{twin, other, unassigned, unassigned}})
	got := scrape(t, registry)
	for _, want := range []string{
		`gitops_agent_guest_info{kind="Container",name="bad?name",node="?",vmid="101"} 1`, `gitops_agent_guests{sync="Synced"} 2`,
		`gitops_agent_guests{sync="OutOfSync"} 2`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("got no %s", want)
		}
	}
	if strings.Contains(got, `vmid="0"`) {
		t.Error("got series of a guest without a vmid")
	}
}

func TestTrustedRootIsReplaced(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	m.TrustedRoot("old", noon)
	m.TrustedRoot("new", noon.AddDate(1, 0, 0))
	got := scrape(t, registry)
	if strings.Contains(got, `sha256="old"`) || !strings.Contains(got, `trusted_root_info{sha256="new"} 1`) {
		t.Error("got the old trusted root, want only the new one")
	}
}

func TestConcurrentEventsAndScrapes(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				recordConvergence(m)
				if _, err := registry.Gather(); err != nil {
					t.Errorf("gather while events are recorded: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if got := scrape(t, registry); !strings.Contains(got, `gitops_agent_steps_total{op="create",result="done"} 80`) {
		t.Error("got a number of created guests other than 80")
	}
}

func BenchmarkScrape(b *testing.B) {
	registry := prometheus.NewRegistry()
	m := metrics.New(registry, metrics.Build{}, reasons())
	recordConvergence(m)
	r := sampleReport()
	for i := range 1000 {
		r.Guests = append(r.Guests, report.Guest{GuestName: report.GuestName{Kind: guest.VirtualMachine, VMID: 1000 + i, Name: "guest", Node: "pve1"}, Sync: report.Synced})
	}
	m.Report(r)
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	for b.Loop() {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil))
	}
}

// TestGuestInSyncIsInEffect: what waits for a restart, is not written yet, or was changed by others is not in sync.
func TestGuestInSyncIsInEffect(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		sync       report.Sync
		conditions []plan.Condition
		want       string
	}{
		"synced":          {report.Synced, nil, "1"},
		"warned":          {report.Synced, []plan.Condition{{Type: plan.Warned, Reason: reason.NeedsRoot}}, "1"},
		"pending_restart": {report.OutOfSync, []plan.Condition{{Type: plan.PendingRestart, Reason: reason.PendingRestart}}, "0"},
		"pending":         {report.OutOfSync, []plan.Condition{{Type: plan.Pending, Reason: reason.Differs}}, "0"},
		"drifted":         {report.OutOfSync, []plan.Condition{{Type: plan.Drifted, Reason: reason.Differs}}, "0"},
		"not_read":        {report.SyncUnknown, []plan.Condition{{Type: plan.NotObserved, Reason: reason.NodeOffline}}, "0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, registry := newMetrics(t)
			m.Report(report.Report{Guests: []report.Guest{{
				GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: "web-1", VMID: 211}, Managed: true, Sync: test.sync, Conditions: test.conditions,
			}}})
			if want := `gitops_agent_guest_in_sync{kind="VirtualMachine",vmid="211"} ` + test.want + "\n"; !strings.Contains(scrape(t, registry), want) {
				t.Errorf("got no %s", want)
			}
		})
	}
}
