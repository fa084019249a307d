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

// TestDocsDescribeEveryIncident compares docs/internals/incidents.md with the tests: each section states what happened, what the agent does and which tests
// check it; each test that is named for an incident is in one section, and each test in a section exists.
func TestDocsDescribeEveryIncident(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "internals", "incidents.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests, named := incidentTests(t), map[string]bool{}
	shape := regexp.MustCompile(`(?s)^[^\n]{10,}\n\n\*\*What happened\.\*\* (.{20,})\n\n\*\*What the agent does\.\*\* (.{20,})\n\n\*\*Tests\.\*\* (.*)$`)
	for _, section := range strings.Split(string(page), "\n### ")[1:] {
		section, _, _ = strings.Cut(section, "\n## ")
		title, _, _ := strings.Cut(section, "\n")
		parts := shape.FindStringSubmatch(section)
		if parts == nil {
			t.Errorf("docs/internals/incidents.md: got section %q, want what happened, what the agent does, and the tests", title)
			continue
		}
		names := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(parts[3], -1)
		if len(names) == 0 {
			t.Errorf("docs/internals/incidents.md: got no test in section %q, want one", title)
		}
		for _, name := range names {
			if named[name[1]] {
				t.Errorf("docs/internals/incidents.md: got %s in two sections, want it in one", name[1])
			}
			if named[name[1]] = true; tests[name[1]] == "" {
				t.Errorf("docs/internals/incidents.md: got %s, want a test that exists", name[1])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		if !named[name] {
			t.Errorf("%s: got %s in no section of docs/internals/incidents.md, want it in one", tests[name], name)
		}
	}
}
