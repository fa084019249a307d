package gooverlay

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Mutation removes one protection from a source.
type Mutation struct {
	Name    string
	File    string // from the root of the repository
	Code    string // occurs once in File
	Instead string // OFF stands for the condition that the mutation is chosen
}

// Mutate returns the changed sources of a program that has every mutation. When it runs, the environment variable selects one by its name, or none.
func Mutate(t testing.TB, root, variable string, mutations []Mutation) map[string]string {
	t.Helper()
	changed := map[string]string{}
	for _, m := range mutations {
		path := filepath.Join(root, m.File)
		source, known := changed[path]
		if !known {
			source = m.read(t, root)
		}
		m.fit(t, source)
		changed[path] = strings.Replace(source, m.Code, strings.ReplaceAll(m.Instead, "OFF", "(protectionOff == "+strconv.Quote(m.Name)+")"), 1)
		dir := filepath.Dir(path)
		changed[filepath.Join(dir, "protection_off.go")] = "package " + filepath.Base(dir) + "\n\nimport \"os\"\n\nvar protectionOff = os.Getenv(\"" + variable + "\")\n"
	}
	return changed
}

// Fit fails the test unless the code that the mutation changes is there, once.
func (m Mutation) Fit(t testing.TB, root string) {
	t.Helper()
	m.fit(t, m.read(t, root))
}

func (m Mutation) fit(t testing.TB, source string) {
	t.Helper()
	if n := strings.Count(source, m.Code); n != 1 {
		t.Fatalf("%s: got %d times %q in %s, want once", m.Name, n, m.Code, m.File)
	}
	if !strings.Contains(m.Instead, "OFF") {
		t.Fatalf("%s: got no switch in %q", m.Name, m.Instead)
	}
}

func (m Mutation) read(t testing.TB, root string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(root, m.File)) //nolint:gosec // a file of the repository
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}
