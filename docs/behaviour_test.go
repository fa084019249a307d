package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestBehaviourNamesTests looks for the tests and scripts that docs/internals/behaviour.md names.
func TestBehaviourNamesTests(t *testing.T) {
	t.Parallel()
	page := readText(t, "internals/behaviour.md")
	tests := regexp.MustCompile("`([a-z/0-9-]+) (Test[A-Za-z0-9_]+)`").FindAllStringSubmatch(page, -1)
	if len(tests) < 20 {
		t.Errorf("got %d tests on the page, want at least 20", len(tests))
	}
	for _, test := range tests {
		files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(test[1]), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(files, func(file string) bool {
			return strings.Contains(readText(t, file), "func "+test[2]+"(t *testing.T) {")
		}) {
			t.Errorf("the page names %s of %s, which does not exist", test[2], test[1])
		}
	}
	for _, script := range scripts(t) {
		if name := filepath.Base(script); !strings.Contains(page, "](../../findings/"+name+")") {
			t.Errorf("docs/internals/behaviour.md lacks findings/%s", name)
		}
	}
}

// TestFindingsHaveTheForm checks the heads of the scripts, and that each has a row in the README. It does not run them: they need network.
func TestFindingsHaveTheForm(t *testing.T) {
	t.Parallel()
	index := readText(t, "../findings/README.md")
	for _, script := range scripts(t) {
		text, name := readText(t, script), filepath.Base(script)
		for _, part := range []string{"#!/usr/bin/env bash\n# ", "\n# One would expect: ", "\n# Instead: ", "\n# Why it matters: ", "\n# Source: ", "\nset -euo pipefail\n", "\ndiff -u want got >&2 || "} {
			if !strings.Contains(text, part) {
				t.Errorf("findings/%s lacks %q", name, part)
			}
		}
		if row := "| [" + strings.TrimSuffix(name, ".sh") + "](" + name + ") | "; strings.Count(index, row) != 1 {
			t.Errorf("findings/README.md: got %d rows of %s, want one", strings.Count(index, row), name)
		}
		info, err := os.Stat(script)
		if err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("findings/%s: got %v, want it executable", name, err)
		}
	}
}

func scripts(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("../findings/*.sh")
	if err != nil || len(found) < 12 {
		t.Fatalf("got %d scripts in findings, %v, want at least 12", len(found), err)
	}
	return found
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
