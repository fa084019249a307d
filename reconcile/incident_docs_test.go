package reconcile_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// incidentTests returns the tests in the module that are named for an incident, with the file of each.
func incidentTests(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	declared := regexp.MustCompile(`(?m)^func (TestIncident\w+)\(t \*testing\.T\)`)
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(source, -1) {
			found[string(m[1])] = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestDocsTellEveryIncident holds docs/incidents.md against the tests: every row says what happened, what the agent does and which tests hold
// it; every test that is named for an incident is in a row, and every test in a row exists.
func TestDocsTellEveryIncident(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "incidents.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests, named := incidentTests(t), map[string]bool{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| What happened") {
			continue
		}
		if len(cells) != 3 || len(strings.TrimSpace(cells[0])) < 20 || len(strings.TrimSpace(cells[1])) < 20 {
			t.Errorf("docs/incidents.md: got row %q, want what happened, what the agent does, and the tests", line)
			continue
		}
		names := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(cells[2], -1)
		if len(names) == 0 {
			t.Errorf("docs/incidents.md: got no test for %q, want one", cells[0])
		}
		for _, name := range names {
			if named[name[1]] {
				t.Errorf("docs/incidents.md: got %s in two rows, want it in one", name[1])
			}
			if named[name[1]] = true; tests[name[1]] == "" {
				t.Errorf("docs/incidents.md: got %s, want a test that exists", name[1])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		if !named[name] {
			t.Errorf("%s: got %s in no row of docs/incidents.md, want it in one", tests[name], name)
		}
	}
}
