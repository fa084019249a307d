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

// kind contains the type and the labels of a metric, as in the columns of docs/metrics.md.
type kind struct{ Type, Labels string }

// documented reads the tables of docs/metrics.md: name, type, labels, meaning.
func documented(t *testing.T) map[string]kind {
	t.Helper()
	text := readDocs(t, "metrics.md")
	row := regexp.MustCompile("(?m)^\\| `(gitops_agent_[a-z_]+)` \\| ([a-z]+) \\| ([^|]*) \\| ([^|]+) \\|$")
	found := map[string]kind{}
	for _, m := range row.FindAllStringSubmatch(text, -1) {
		if _, twice := found[m[1]]; twice {
			t.Errorf("got two rows for %s in docs/metrics.md", m[1])
		}
		found[m[1]] = kind{m[2], strings.ReplaceAll(strings.TrimSpace(m[3]), "`", "")}
	}
	if lines := strings.Count(text, "\n| `gitops_agent_"); lines != len(found) {
		t.Errorf("got %d rows of metrics, of which %d have the expected columns", lines, len(found))
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
	t.Parallel()
	m, registry := newMetrics(t)
	recordConvergence(m)
	if diff := cmp.Diff(registered(t, registry), documented(t)); diff != "" {
		t.Errorf("docs/metrics.md (-registered +documented):\n%s", diff)
	}
}

func TestDocsAlertsNameKnownMetricsAndLabels(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	recordConvergence(m)
	text := readDocs(t, "metrics.md")
	known := registered(t, registry)
	exposition := scrape(t, registry)
	suffix := regexp.MustCompile(`_(bucket|sum|count)$`)
	use := regexp.MustCompile(`(gitops_agent_[a-z_]+)(?:\{([a-z_]+)(=|!=)"([^"]*)"\})?`)
	alerts := 0
	for block := range strings.SplitSeq(text, "```") {
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
				t.Errorf("got %s in an expression, want a metric that exists", found[1])
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

// openLabels are labels without a closed list of values, and "code", whose values are HTTP statuses.
var openLabels = []string{"kind", "vmid", "node", "name", "ref", "commit", "version", "goversion", "sha256", "method", "route", "code", "le", "endpoint", "remote"}

// Every value of a closed label is in the row of the metric or in the table of labels, or it is a reason of the verifier with a section in
// docs/verify.md.
func TestDocsListEveryLabelValue(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	recordEveryLabelValue(m)
	page, reasons := readDocs(t, "metrics.md"), readDocs(t, "verify.md")
	row := func(name string) string {
		_, row, _ := strings.Cut(page, "\n| `"+name+"` |")
		row, _, _ = strings.Cut(row, "\n")
		return row
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, series := range f.GetMetric() {
			for _, label := range series.GetLabel() {
				name, value := label.GetName(), label.GetValue()
				if slices.Contains(openLabels, name) || value == "" || strings.Contains(row(f.GetName())+row(name), "`"+value+"`") {
					continue
				}
				if !slices.Contains(rejections(), value) || !strings.Contains(reasons, "\n### "+value+"\n") {
					t.Errorf("%s: got no value %s of label %s in docs/metrics.md", f.GetName(), value, name)
				}
			}
		}
	}
}

// readDocs returns a page of the folder docs.
func readDocs(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
