//go:build integration

package observability

import (
	"io"
	"math"
	"net/http"
	"regexp"
	"testing"
	"time"

	"gitops-agent/internal/promtest"
)

// evaluateDashboards evaluates every query of every dashboard over the time of the test. A query must neither fail nor be empty: for a panel that shows
// the newest value, there must have been a moment with one.
func evaluateDashboards(t *testing.T, p *prometheus, dashboards []promtest.Dashboard, end time.Time) {
	t.Helper()
	panels, queries := 0, 0
	for _, d := range dashboards {
		for _, pan := range d.Panels {
			if pan.Type == "row" {
				continue
			}
			panels++
			for _, target := range pan.Targets {
				queries++
				got, err := p.Over(promtest.Substitute(target.Expr, ".*"), p.began, end)
				if err != nil {
					t.Errorf("%s, %s: %v", d.Title, pan.Title, err)
				} else if !hasNumber(got) {
					t.Errorf("%s, %s: got no data in %d series from %s", d.Title, pan.Title, len(got), target.Expr)
				}
			}
		}
		for _, a := range d.Annotations.List {
			queries++
			if got, err := p.Over(promtest.Substitute(a.Expr, ".*"), p.began, end); err != nil || !hasNumber(got) {
				t.Errorf("%s, annotation %s: got %d series, %v, want some", d.Title, a.Name, len(got), err)
			}
		}
		for _, v := range d.Templating.List {
			if v.Type != "query" {
				continue
			}
			queries++
			checkVariable(t, p, d.Title, v.Name, v.Query, end)
		}
	}
	t.Logf("observability: %d panels, %d queries of dashboards", panels, queries)
}

// checkVariable evaluates the query of a variable, label_values(selector, label) or query_result(expression).
func checkVariable(t *testing.T, p *prometheus, dashboard, name string, query any, end time.Time) {
	t.Helper()
	expr, label, ok := promtest.VariableQuery(query)
	if !ok {
		t.Errorf("%s, variable %s: got the query %v, want label_values or query_result", dashboard, name, query)
		return
	}
	got, err := p.Over(promtest.Substitute(expr, ".*"), p.began, end)
	if err != nil || len(got) == 0 {
		t.Errorf("%s, variable %s: got %d series, %v, want some", dashboard, name, len(got), err)
		return
	}
	if label != "" && got[0].Metric[label] == "" {
		t.Errorf("%s, variable %s: got no label %s in %v", dashboard, name, label, got[0].Metric)
	}
}

// hasNumber reports whether a series has a value.
func hasNumber(list []promtest.Sample) bool {
	for _, s := range list {
		for _, point := range s.Points {
			if !math.IsNaN(point.Value) {
				return true
			}
		}
	}
	return false
}

// checkRules checks that Prometheus evaluated every rule without an error, and that every recording rule has data.
func checkRules(t *testing.T, p *prometheus, files map[string]promtest.RuleFile, end time.Time) {
	t.Helper()
	var state struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	must(t, p.Get("/api/v1/rules", nil, &state))
	health := map[string]string{}
	for _, group := range state.Groups {
		for _, r := range group.Rules {
			health[r.Name] = r.Health + " " + r.LastError
		}
	}
	count := 0
	for _, file := range files {
		for _, group := range file.Groups {
			for _, r := range group.Rules {
				count++
				if name := r.Alert + r.Record; health[name] != "ok " {
					t.Errorf("%s: got %q, want ok", name, health[name])
				}
				if r.Record == "" {
					continue
				}
				if got, err := p.Over(r.Record, p.began, end); err != nil || !hasNumber(got) {
					t.Errorf("%s: got %d series, %v, want data", r.Record, len(got), err)
				}
			}
		}
	}
	resp, err := http.Get(p.URL + "/metrics")
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	own, err := io.ReadAll(resp.Body)
	must(t, err)
	counters := regexp.MustCompile(`(?m)^prometheus_rule_evaluation_failures_total\{rule_group="([^"]*)"\} (.*)$`).FindAllStringSubmatch(string(own), -1)
	if len(counters) == 0 {
		t.Error("got no count of failed evaluations, want one for each group")
	}
	for _, c := range counters {
		if c[2] != "0" {
			t.Errorf("%s: got %s failed evaluations, want none", c[1], c[2])
		}
	}
	t.Logf("observability: %d rules", count)
}
