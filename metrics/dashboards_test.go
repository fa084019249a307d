package metrics_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is what the tests read of a dashboard's file.
type dashboard struct {
	path          string
	UID           string `json:"uid"`
	Title         string
	SchemaVersion int `json:"schemaVersion"`
	Templating    struct {
		List []struct {
			Name, Type string
			Datasource datasource
			Query      any
		}
	}
	Annotations struct {
		List []struct {
			Name, Expr string
			Datasource datasource
		}
	}
	Links  []struct{ Type, Title, URL string }
	Panels []struct {
		ID                       int
		Type, Title, Description string
		GridPos                  struct{ X, Y, W, H int } `json:"gridPos"`
		Datasource               datasource
		FieldConfig              struct {
			Defaults struct {
				Unit       string
				Thresholds struct{ Steps []struct{ Color string } }
			}
		} `json:"fieldConfig"`
		Targets []struct {
			RefID      string `json:"refId"`
			Expr       string
			Datasource datasource
		}
	}
}

type datasource struct{ Type, UID string }

// chosen is the data source that a person chooses when importing the dashboard.
var chosen = datasource{"prometheus", "${datasource}"}

func readDashboards(t *testing.T) []dashboard {
	t.Helper()
	files, err := filepath.Glob("grafana/*.json")
	if err != nil {
		t.Fatal(err)
	}
	list := make([]dashboard, len(files))
	for i, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		list[i].path = path
		if err := json.Unmarshal(data, &list[i]); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return list
}

// expressions returns every expression of a dashboard, by where it is: those of panels, annotations and variables.
func (d dashboard) expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			where := p.Title + " " + target.RefID
			if _, again := all[where]; again {
				t.Errorf("%s: got two panels %q, want each title once", d.path, p.Title)
			}
			all[where] = target.Expr
		}
	}
	for _, a := range d.Annotations.List {
		all["annotation "+a.Name] = a.Expr
	}
	call := regexp.MustCompile(`^(?:label_values\((.*), \w+|query_result\((.*))\)$`)
	for _, v := range d.Templating.List {
		if v.Type == "datasource" {
			continue
		}
		query, _ := v.Query.(map[string]any)
		text, _ := query["query"].(string)
		m := call.FindStringSubmatch(text)
		if m == nil {
			t.Errorf("%s: got query %q of variable %s, want label_values or query_result", d.path, text, v.Name)
			continue
		}
		all["variable "+v.Name] = m[1] + m[2]
	}
	return all
}

func TestDashboardsNameKnownMetrics(t *testing.T) {
	t.Parallel()
	k := newCatalogue(t)
	for _, d := range readDashboards(t) {
		var variables []string
		for _, v := range d.Templating.List {
			variables = append(variables, v.Name)
		}
		for where, expression := range d.expressions(t) {
			for _, unknown := range k.check(expression) {
				t.Errorf("%s: %s: got unknown %s", d.path, where, unknown)
			}
			for _, m := range regexp.MustCompile(`\$\{?([a-z]\w*)`).FindAllStringSubmatch(expression, -1) {
				if !slices.Contains(variables, m[1]) {
					t.Errorf("%s: %s: got variable %s, want one of %v", d.path, where, m[1], variables)
				}
			}
		}
	}
}

func TestEveryMetricIsShown(t *testing.T) {
	t.Parallel()
	k := newCatalogue(t)
	for _, d := range readDashboards(t) {
		for _, expression := range d.expressions(t) {
			k.check(expression)
		}
	}
	for _, r := range readRules(t) {
		k.check(r.Expr)
	}
	for name := range k.labels {
		if strings.HasPrefix(name, "gitops_agent_") && !k.used[name] {
			t.Errorf("%s is in no dashboard and in no rule", name)
		}
	}
}

func TestDashboardsCanBeImported(t *testing.T) {
	t.Parallel()
	uids := map[string]bool{}
	dashboards := readDashboards(t)
	if len(dashboards) != 3 {
		t.Errorf("got %d dashboards, want 3", len(dashboards))
	}
	for _, d := range dashboards {
		if d.UID == "" || len(d.UID) > 40 || uids[d.UID] || d.Title == "" || d.SchemaVersion < 36 {
			t.Errorf("%s: got uid %q, title %q and schema %d, want a unique uid, a title and a present schema", d.path, d.UID, d.Title, d.SchemaVersion)
		}
		uids[d.UID] = true
		var variables, links []string
		for _, v := range d.Templating.List {
			variables = append(variables, v.Name)
			if v.Type == "query" && v.Datasource != chosen {
				t.Errorf("%s: got data source %v of variable %s, want the chosen one", d.path, v.Datasource, v.Name)
			}
		}
		for _, l := range d.Links {
			links = append(links, l.URL)
		}
		if !slices.Equal(variables[:3], []string{"datasource", "cluster", "instance"}) || len(d.Annotations.List) != 2 || !slices.ContainsFunc(links, func(url string) bool { return strings.HasSuffix(url, "docs/operations.md") }) {
			t.Errorf("%s: got variables %v, %d annotations and links %v", d.path, variables, len(d.Annotations.List), links)
		}
		for _, a := range d.Annotations.List {
			if a.Datasource != chosen {
				t.Errorf("%s: got data source %v of annotation %s, want the chosen one", d.path, a.Datasource, a.Name)
			}
		}
		d.checkPanels(t)
	}
}

// checkPanels checks that panels have what a person needs to read them, and do not overlap.
func (d dashboard) checkPanels(t *testing.T) {
	t.Helper()
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if p.ID == 0 || ids[p.ID] || p.Title == "" {
			t.Errorf("%s: got panel %q with id %d, want a title and a unique id", d.path, p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s: panel %q ends right of the page", d.path, p.Title)
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other, taken := cells[cell]; taken {
					t.Fatalf("%s: panels %q and %q overlap", d.path, other, p.Title)
				}
				cells[cell] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		defaults := p.FieldConfig.Defaults
		if p.Description == "" || defaults.Unit == "" || len(defaults.Thresholds.Steps) == 0 || len(p.Targets) == 0 || p.Datasource != chosen {
			t.Errorf("%s: panel %q lacks a description, a unit, thresholds, an expression or the chosen data source", d.path, p.Title)
		}
		for _, target := range p.Targets {
			if target.Datasource != chosen {
				t.Errorf("%s: got data source %v of panel %q, want the chosen one", d.path, target.Datasource, p.Title)
			}
		}
	}
}
