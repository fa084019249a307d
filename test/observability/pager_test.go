//go:build integration

package observability

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// pager receives the alerts that Prometheus sends, as an Alertmanager does. It also takes the notifications and the traces of the agents.
type pager struct {
	server *httptest.Server
	silent atomic.Bool // takes no notifications
	hangs  atomic.Bool // answers no notification while it is set

	mu              sync.Mutex
	alerts          map[string]*alert // by labels
	fired, resolved map[string]bool   // by name: what a world has awaited
}

// alert is what the pager knows of one alert with its labels.
type alert struct {
	Labels, Annotations map[string]string
	StartsAt, EndsAt    time.Time
	fired, resolved     int // how often
}

// firing reports whether the alert fires, by the newest message. Prometheus sends a firing alert with an end in the future.
func (a *alert) firing() bool { return a.fired > a.resolved }

func newPager(t testing.TB) *pager {
	t.Helper()
	p := &pager{alerts: map[string]*alert{}, fired: map[string]bool{}, resolved: map[string]bool{}}
	p.server = httptest.NewServer(http.HandlerFunc(p.receive))
	t.Cleanup(p.server.Close)
	return p
}

func (p *pager) address() string { return strings.TrimPrefix(p.server.URL, "http://") }

func (p *pager) receive(w http.ResponseWriter, r *http.Request) {
	for r.URL.Path == "/events" && p.hangs.Load() && r.Context().Err() == nil {
		time.Sleep(20 * time.Millisecond)
	}
	if r.URL.Path == "/events" && p.silent.Load() {
		http.Error(w, "maintenance", http.StatusServiceUnavailable)
		return
	}
	if r.URL.Path == "/events" || r.URL.Path == "/spans" {
		return // 200
	}
	var list []alert
	if err := json.NewDecoder(r.Body).Decode(&list); err != nil || r.URL.Path != "/api/v2/alerts" {
		http.Error(w, "want alerts", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, got := range list {
		key := fmt.Sprint(got.Labels)
		known := p.alerts[key]
		if known == nil {
			known = &alert{Labels: got.Labels}
			p.alerts[key] = known
		}
		known.Annotations = got.Annotations
		switch ends := !got.EndsAt.After(time.Now()); {
		case ends && known.firing():
			known.resolved++
		case !ends && !known.firing():
			known.fired++
		}
	}
}

// find returns copies of the alerts with a name and an instance.
func (p *pager) find(name, instance string) []alert {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []alert
	for _, a := range p.alerts {
		if a.Labels["alertname"] == name && (instance == "" || a.Labels["instance"] == instance) {
			found = append(found, *a)
		}
	}
	return found
}

// note records that a world has seen an alert fire or resolve.
func (p *pager) note(seen map[string]bool, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen[name] = true
}

// checkMessage checks what a person reads of an alert: its texts are complete, and both links lead somewhere.
func (w *world) checkMessage(a alert) {
	w.Helper()
	name := a.Labels["alertname"]
	for _, key := range []string{"summary", "description", "runbook_url"} {
		if text := a.Annotations[key]; text == "" || strings.Contains(text, "<no value>") || strings.Contains(text, "error") && strings.Contains(text, "template") {
			w.Errorf("%s: got %s %q, want a text", name, key, text)
		}
	}
	if !slices.Contains([]string{"critical", "warning", "info"}, a.Labels["severity"]) {
		w.Errorf("%s: got severity %q, want critical, warning or info", name, a.Labels["severity"])
	}
	runbook, err := os.ReadFile("../../docs/operations.md")
	w.ok(err)
	page, heading, _ := strings.Cut(a.Annotations["runbook_url"], "#")
	if !strings.HasSuffix(page, "/docs/operations.md") || !regexp.MustCompile(`(?mi)^### `+regexp.QuoteMeta(heading)+`$`).Match(runbook) {
		w.Errorf("%s: got the runbook %q, want a heading of docs/operations.md", name, a.Annotations["runbook_url"])
	}
	status := a.Annotations["status_url"]
	if status == "" {
		if name != "GitopsAgentDown" {
			w.Errorf("%s: got no status_url", name)
		}
		return
	}
	resp, err := http.Get(status)
	if err != nil {
		w.Errorf("%s: status_url: %v", name, err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		w.Errorf("%s: got %s from %s, want 200", name, resp.Status, status)
	}
}
