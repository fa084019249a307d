package promtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Dashboard is what tests read of a dashboard's file.
type Dashboard struct {
	Title       string
	Panels      []Panel
	Annotations struct{ List []struct{ Name, Expr string } }
	Templating  struct {
		List []struct {
			Name, Type string
			Query      any
		}
	}
}

// Panel is one panel of a dashboard.
type Panel struct {
	Type, Title, Description string
	Targets                  []Target
}

// Target is a query of a panel.
type Target struct {
	Expr    string
	Legend  string `json:"legendFormat"`
	Instant bool
}

// rateInterval replaces the variable with which Grafana fits a range to the interval of the scrapes.
const rateInterval = "5s"

// Substitute fills the variables of a dashboard as Grafana does, with all clusters and guests.
func Substitute(expr, instance string) string {
	return strings.NewReplacer("$__rate_interval", rateInterval, "$instance", instance, "$cluster", ".*", "$guest", ".*").Replace(expr)
}

// ReadDashboards returns the dashboards in a folder.
func ReadDashboards(t testing.TB, folder string) []Dashboard {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("got %d dashboards: %v", len(paths), err)
	}
	list := make([]Dashboard, len(paths))
	for i, path := range paths {
		text, err := os.ReadFile(path) //nolint:gosec // a file of the repository
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &list[i]); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

var variableQuery = regexp.MustCompile(`^(label_values|query_result)\((.*?)(?:, (\w+))?\)$`)

// VariableQuery returns the expression in the query of a variable, label_values(expression, label) or query_result(expression), and the label.
func VariableQuery(query any) (expr, label string, ok bool) {
	fields, _ := query.(map[string]any)
	text, _ := fields["query"].(string)
	m := variableQuery.FindStringSubmatch(text)
	if m == nil {
		return "", "", false
	}
	return m[2], m[3], true
}
