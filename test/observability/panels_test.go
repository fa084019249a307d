//go:build integration

package observability

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// dashboard is what the test reads of a dashboard's file.
type dashboard struct {
	Title       string
	Panels      []panel
	Annotations struct{ List []struct{ Name, Expr string } }
	Templating  struct {
		List []struct {
			Name, Type string
			Query      any
		}
	}
}

type panel struct {
	Type, Title, Description string
	Targets                  []target
}

type target struct {
	Expr    string
	Legend  string `json:"legendFormat"`
	Instant bool
}

// rateInterval replaces the variable with which Grafana fits a range to the interval of the scrapes.
const rateInterval = "5s"

// substitute fills the variables of a dashboard as Grafana does, with all clusters and guests.
func substitute(expr, instance string) string {
	return strings.NewReplacer("$__rate_interval", rateInterval, "$instance", instance, "$cluster", ".*", "$guest", ".*").Replace(expr)
}

func readDashboards(t *testing.T) []dashboard {
	t.Helper()
	paths, err := filepath.Glob("../../metrics/grafana/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got %d dashboards: %v", len(paths), err)
	}
	list := make([]dashboard, len(paths))
	for i, path := range paths {
		text, err := os.ReadFile(path)
		must(t, err)
		must(t, json.Unmarshal(text, &list[i]))
	}
	return list
}

// evaluateDashboards evaluates every query of every dashboard over the time of the test. A query must neither fail nor be empty: for a panel that shows
// the newest value, there must have been a moment with one.
func evaluateDashboards(t *testing.T, p *prometheus, dashboards []dashboard, end time.Time) {
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
				got, err := p.over(substitute(target.Expr, ".*"), p.began, end)
				if err != nil {
					t.Errorf("%s, %s: %v", d.Title, pan.Title, err)
				} else if !hasNumber(got) {
					t.Errorf("%s, %s: got no data in %d series from %s", d.Title, pan.Title, len(got), target.Expr)
				}
			}
		}
		for _, a := range d.Annotations.List {
			queries++
			if got, err := p.over(substitute(a.Expr, ".*"), p.began, end); err != nil || !hasNumber(got) {
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
	fields, _ := query.(map[string]any)
	text, _ := fields["query"].(string)
	m := regexp.MustCompile(`^(label_values|query_result)\((.*?)(?:, (\w+))?\)$`).FindStringSubmatch(text)
	if m == nil {
		t.Errorf("%s, variable %s: got the query %q, want label_values or query_result", dashboard, name, text)
		return
	}
	got, err := p.over(substitute(m[2], ".*"), p.began, end)
	if err != nil || len(got) == 0 {
		t.Errorf("%s, variable %s: got %d series, %v, want some", dashboard, name, len(got), err)
		return
	}
	if m[3] != "" && got[0].Metric[m[3]] == "" {
		t.Errorf("%s, variable %s: got no label %s in %v", dashboard, name, m[3], got[0].Metric)
	}
}

// hasNumber reports whether a series has a value.
func hasNumber(list []sample) bool {
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
func checkRules(t *testing.T, p *prometheus, files map[string]ruleFile, end time.Time) {
	t.Helper()
	var state struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	must(t, p.get("/api/v1/rules", nil, &state))
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
				if got, err := p.over(r.Record, p.began, end); err != nil || !hasNumber(got) {
					t.Errorf("%s: got %d series, %v, want data", r.Record, len(got), err)
				}
			}
		}
	}
	resp, err := http.Get(p.url + "/metrics")
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
