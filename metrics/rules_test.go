package metrics_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// rule is a rule of metrics/rules.
type rule struct {
	Alert, Record, Expr string
	Labels, Annotations map[string]string
}

func decodeYAML(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// readRules returns all rules.
func readRules(t *testing.T) []rule {
	t.Helper()
	var rules []rule
	for _, name := range []string{"recording", "alerts"} {
		var file struct{ Groups []struct{ Rules []rule } }
		decodeYAML(t, filepath.Join("rules", name+".yaml"), &file)
		for _, g := range file.Groups {
			rules = append(rules, g.Rules...)
		}
	}
	return rules
}

// alertTests counts the expectations of tests of the rules, by alert: those that it fires, and those that it does not fire.
func alertTests(t *testing.T) (fires, quiet map[string]int) {
	t.Helper()
	fires, quiet = map[string]int{}, map[string]int{}
	files, err := filepath.Glob("rules/tests/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		var file struct {
			Tests []struct {
				Name           string
				AlertRuleTests []struct {
					Alertname string      `yaml:"alertname"`
					Want      []yaml.Node `yaml:"exp_alerts"`
				} `yaml:"alert_rule_test"`
			}
		}
		decodeYAML(t, path, &file)
		for _, test := range file.Tests {
			for _, want := range test.AlertRuleTests {
				if !strings.HasPrefix(test.Name, want.Alertname+": ") {
					t.Errorf("%s: got test %q of the alert %s, want its name to begin with the alert", path, test.Name, want.Alertname)
				}
				if len(want.Want) > 0 {
					fires[want.Alertname]++
				}
			}
			if len(test.AlertRuleTests) == 1 && len(test.AlertRuleTests[0].Want) == 0 {
				quiet[test.AlertRuleTests[0].Alertname]++ // nothing else happens in this test
			}
		}
	}
	return fires, quiet
}

func TestRulesNameKnownMetrics(t *testing.T) {
	t.Parallel()
	k := newCatalogue(t)
	for _, r := range readRules(t) {
		for _, unknown := range k.check(r.Expr) {
			t.Errorf("%s%s: got unknown %s", r.Alert, r.Record, unknown)
		}
	}
}

func TestAlertsAreComplete(t *testing.T) {
	t.Parallel()
	page := readDocs(t, "operations.md")
	fires, quiet := alertTests(t)
	runbook := regexp.MustCompile(`^https://.+/docs/operations\.md#(.+)$`)
	alerts := 0
	for _, r := range readRules(t) {
		if r.Alert == "" {
			continue
		}
		alerts++
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("%s: got severity %q, want critical, warning or info", r.Alert, r.Labels["severity"])
		}
		if r.Annotations["summary"] == "" {
			t.Errorf("%s: got no summary", r.Alert)
		}
		if !strings.Contains(r.Annotations["description"], "{{") {
			t.Errorf("%s: got description %q, want one with values", r.Alert, r.Annotations["description"])
		}
		if m := runbook.FindStringSubmatch(r.Annotations["runbook_url"]); m == nil || m[1] != strings.ToLower(r.Alert) {
			t.Errorf("%s: got runbook_url %q, want the heading of the alert", r.Alert, r.Annotations["runbook_url"])
		}
		_, section, found := strings.Cut(page, "\n### "+r.Alert+"\n")
		section, _, _ = strings.Cut(section, "\n#")
		if !found || !strings.Contains(section, "**Check.**") || !strings.Contains(section, "**Do.**") {
			t.Errorf("%s: got no heading in docs/operations.md that says what to check and what to do", r.Alert)
		}
		if fires[r.Alert] == 0 || quiet[r.Alert] == 0 {
			t.Errorf("%s: got %d tests in which it fires and %d in which it does not, want both", r.Alert, fires[r.Alert], quiet[r.Alert])
		}
	}
	if headings := strings.Count(page, "\n### GitopsAgent"); headings != alerts {
		t.Errorf("got %d headings of alerts in docs/operations.md for %d alerts", headings, alerts)
	}
}

// Every metric that a page names exists.
func TestDocsNameKnownMetrics(t *testing.T) {
	t.Parallel()
	k := newCatalogue(t)
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("got %d pages: %v", len(pages), err)
	}
	internals, err := filepath.Glob("../docs/internals/*.md")
	if err != nil || len(internals) == 0 {
		t.Fatalf("got %d pages of internals: %v", len(internals), err)
	}
	pages = append(pages, internals...)
	name := regexp.MustCompile(`\bgitops_agent_[a-z0-9_]+[a-z0-9]\b`)
	for _, path := range pages {
		for _, found := range name.FindAllString(readDocs(t, strings.TrimPrefix(path, "../docs/")), -1) {
			if _, ok := k.metricOf(found); !ok {
				t.Errorf("%s: got metric %s, which does not exist", path, found)
			}
		}
	}
}
