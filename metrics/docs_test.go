package metrics_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// kind is what a metric is, as docs/metrics.md has it in the columns of its tables.
type kind struct{ Type, Labels string }

// documented reads the tables of docs/metrics.md: name, type, labels, meaning.
func documented(t *testing.T) map[string]kind {
	t.Helper()
	text, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `(gitops_agent_[a-z_]+)` \\| ([a-z]+) \\| ([^|]*) \\| ([^|]+) \\|$")
	found := map[string]kind{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		if _, twice := found[m[1]]; twice {
			t.Errorf("got %s twice in docs/metrics.md", m[1])
		}
		found[m[1]] = kind{m[2], strings.ReplaceAll(strings.TrimSpace(m[3]), "`", "")}
	}
	if lines := strings.Count(string(text), "\n| `gitops_agent_"); lines != len(found) {
		t.Errorf("got %d rows about metrics, of which %d can be read", lines, len(found))
	}
	return found
}

// registered returns every metric with its labels in alphabetical order.
func registered(t *testing.T, registry *prometheus.Registry) map[string]kind {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]kind{}
	for _, f := range families {
		var labels []string
		for _, pair := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, pair.GetName())
		}
		slices.Sort(labels)
		found[f.GetName()] = kind{strings.ToLower(f.GetType().String()), strings.Join(labels, ", ")}
	}
	return found
}

func TestDocsListEveryMetric(t *testing.T) {
	m, registry := built(t)
	work(m)
	if diff := cmp.Diff(registered(t, registry), documented(t)); diff != "" {
		t.Errorf("docs/metrics.md (-registered +documented):\n%s", diff)
	}
}

func TestDocsAlertsNameKnownMetricsAndLabels(t *testing.T) {
	m, registry := built(t)
	work(m)
	text, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	known := registered(t, registry)
	exposition := scrape(t, registry)
	suffix := regexp.MustCompile(`_(bucket|sum|count)$`)
	use := regexp.MustCompile(`(gitops_agent_[a-z_]+)(?:\{([a-z_]+)(=|!=)"([^"]*)"\})?`)
	alerts := 0
	for block := range strings.SplitSeq(string(text), "```") {
		if !strings.HasPrefix(block, "promql") {
			continue
		}
		for _, found := range use.FindAllStringSubmatch(block, -1) {
			alerts++
			k, ok := known[found[1]]
			if !ok {
				k, ok = known[suffix.ReplaceAllString(found[1], "")]
			}
			if !ok {
				t.Errorf("got %s in an expression, which is no metric", found[1])
			}
			if found[2] != "" && !slices.Contains(strings.Split(k.Labels, ", "), found[2]) {
				t.Errorf("got label %s of %s in an expression, want one of %s", found[2], found[1], k.Labels)
			}
			if found[2] != "" && !strings.Contains(exposition, found[2]+`="`+found[4]+`"`) {
				t.Errorf("got %s=%q in an expression, which %s never has", found[2], found[4], found[1])
			}
		}
	}
	if alerts == 0 {
		t.Error("got no expression in docs/metrics.md")
	}
}
