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

// openLabels are labels without a closed list of values, and "code", whose values are HTTP statuses.
var openLabels = []string{"kind", "vmid", "node", "name", "ref", "commit", "version", "goversion", "sha256", "method", "route", "code", "le", "endpoint", "remote"}

// Every value of a closed label is in the row of the metric, in the row to which that one refers, or in the table of labels, or it is a reason of the
// verifier with a section in docs/refusals.md.
func TestDocsListEveryLabelValue(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	recordEveryLabelValue(m)
	page, rejections := readDocs(t, "metrics.md"), readDocs(t, "refusals.md")
	refers := regexp.MustCompile("those of `(gitops_agent_[a-z_]+)`")
	var row func(name string) string
	row = func(name string) string {
		_, text, _ := strings.Cut(page, "\n| `"+name+"` |")
		text, _, _ = strings.Cut(text, "\n")
		if other := refers.FindStringSubmatch(text); other != nil {
			text += row(other[1])
		}
		return text
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
				if !slices.Contains(reasons().Rejections, value) || !strings.Contains(rejections, "\n### "+value+"\n") {
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
