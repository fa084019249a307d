package metrics_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
)

// catalogue knows every metric that an expression may name: those of the agent, of Go and of its process, and those that recording rules make.
type catalogue struct {
	labels map[string][]string        // by metric, with the labels of the scrape
	values map[string]map[string]bool // by metric and label, "name/label": the values that the label can have
	used   map[string]bool            // by metric: an expression names it

	histograms map[string]bool
}

// newCatalogue returns a catalogue with the recording rules of the project.
func newCatalogue(t *testing.T) *catalogue {
	t.Helper()
	m, registry := newMetrics(t)
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	recordEveryLabelValue(m)
	recordConvergence(m)
	k := &catalogue{labels: map[string][]string{"up": {"job", "instance"}}, values: map[string]map[string]bool{}, used: map[string]bool{}, histograms: map[string]bool{}}
	k.gather(t, registry)
	all := []string{}
	for _, labels := range k.labels {
		all = append(all, labels...)
	}
	for _, r := range readRules(t) {
		if r.Record != "" {
			k.labels[r.Record] = all // what an expression leaves of the labels is not known
		}
	}
	return k
}

func (k *catalogue) gather(t *testing.T, registry *prometheus.Registry) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		labels := []string{"job", "instance"}
		if f.GetType() == dto.MetricType_HISTOGRAM {
			k.histograms[f.GetName()] = true
			labels = append(labels, "le")
		}
		for _, series := range f.GetMetric() {
			for _, pair := range series.GetLabel() {
				key := f.GetName() + "/" + pair.GetName()
				if k.values[key] == nil {
					k.values[key] = map[string]bool{}
					labels = append(labels, pair.GetName())
				}
				k.values[key][pair.GetValue()] = true
			}
		}
		k.labels[f.GetName()] = labels
	}
}

// metricOf returns the metric of a series, and whether there is one: the series of a histogram have suffixes.
func (k *catalogue) metricOf(series string) (string, bool) {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if name, has := strings.CutSuffix(series, suffix); has && k.histograms[name] {
			return name, true
		}
	}
	return series, k.labels[series] != nil
}

// check parses an expression, and returns which metrics, labels and label values in it do not exist.
func (k *catalogue) check(expression string) (problems []string) {
	parsed, err := metricsql.Parse(grafanaVariable.ReplaceAllString(expression, "5m"))
	if err != nil {
		return []string{err.Error()}
	}
	known := []string{"job", "instance"}
	var modifiers []string
	metricsql.VisitAll(parsed, func(e metricsql.Expr) {
		switch e := e.(type) {
		case *metricsql.MetricExpr:
			for _, filters := range e.LabelFilterss {
				labels, wrong := k.checkSelector(filters)
				known, problems = append(known, labels...), append(problems, wrong...)
			}
		case *metricsql.AggrFuncExpr:
			modifiers = append(modifiers, e.Modifier.Args...)
		case *metricsql.BinaryOpExpr:
			modifiers = append(append(modifiers, e.GroupModifier.Args...), e.JoinModifier.Args...)
		}
	})
	for _, label := range modifiers {
		if !slices.Contains(known, label) {
			problems = append(problems, fmt.Sprintf("label %s of a modifier, which no metric of the expression has", label))
		}
	}
	return problems
}

// grafanaVariable is a variable that Grafana replaces by a duration. The values of all others are in quotes.
var grafanaVariable = regexp.MustCompile(`\$__(rate_interval|range|interval)`)

// words is a regular expression that is only a list of words.
var words = regexp.MustCompile(`^[a-z0-9|-]+$`)

// checkSelector returns the labels of the metric that a selector names, and what in the selector does not exist.
func (k *catalogue) checkSelector(filters []metricsql.LabelFilter) (labels, problems []string) {
	if len(filters) == 0 || filters[0].Label != "__name__" {
		return nil, []string{"a selector without a metric"}
	}
	name, ok := k.metricOf(filters[0].Value)
	if !ok {
		return nil, []string{"metric " + filters[0].Value}
	}
	k.used[name] = true
	for _, f := range filters[1:] {
		if !slices.Contains(k.labels[name], f.Label) {
			problems = append(problems, "label "+f.Label+" of "+name)
			continue
		}
		if slices.Contains(openLabels, f.Label) || slices.Contains([]string{"job", "instance", "cluster"}, f.Label) {
			continue
		}
		values := []string{f.Value}
		if f.IsRegexp && words.MatchString(f.Value) {
			values = strings.Split(f.Value, "|")
		} else if f.IsRegexp {
			continue
		}
		for _, v := range values {
			if !k.values[name+"/"+f.Label][v] {
				problems = append(problems, fmt.Sprintf("%s=%q of %s", f.Label, v, name))
			}
		}
	}
	return k.labels[name], problems
}

// The checks of rules and dashboards find each kind of mistake.
func TestExpressionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, expression := range map[string]string{
		"syntax":       `sum by (`,
		"metric":       `gitops_agent_gests`,
		"suffix":       `gitops_agent_guests_sum`,
		"label":        `gitops_agent_guests{state="Synced"}`,
		"value":        `gitops_agent_guests{sync="synced"}`,
		"alternatives": `gitops_agent_steps_held{reason=~"approval|garde"}`,
		"modifier":     `sum by (node) (gitops_agent_guests)`,
		"join":         `gitops_agent_guest_in_sync * on (vmid, kinds) group_left (name) gitops_agent_guest_info`,
	} {
		if len(newCatalogue(t).check(expression)) == 0 {
			t.Errorf("%s: got no problem in %s", name, expression)
		}
	}
	correct := `sum by (kind) (rate(gitops_agent_queue_wait_seconds_bucket{le="1"}[$__rate_interval])) > 0 and on (kind) gitops_agent_guest_in_sync{vmid="$guest"}`
	if got := newCatalogue(t).check(correct); len(got) != 0 {
		t.Errorf("got unknown %v in %s", got, correct)
	}
}
