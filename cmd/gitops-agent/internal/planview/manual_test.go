package planview

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// shownOutput matches a block of a page with the expected output of a script: "~~~~text plan.txtar/differs.txt".
var shownOutput = regexp.MustCompile(`(?ms)^~~~~(\w+) ([\w.]+)/([\w.]+)\n.*?^~~~~$`)

// The pages show the expected outputs of the scripts, which -update copies; docs/plan.md names every symbol and action.
func TestPlanManualMatchesScripts(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	manuals := map[string]string{}
	for _, path := range pages {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		manual := shownOutput.ReplaceAllStringFunc(string(text), func(block string) string {
			blocks++
			name := shownOutput.FindStringSubmatch(block)
			return "~~~~" + name[1] + " " + name[2] + "/" + name[3] + "\n" + scriptFile(t, name[2], name[3]) + "~~~~"
		})
		manuals[filepath.Base(path)] = manual
		if diff := cmp.Diff(manual, string(text)); diff != "" && !*update {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		if *update {
			if err := os.WriteFile(path, []byte(manual), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if blocks == 0 {
		t.Error("got no output in docs, want that of docs/plan.md")
	}
	for _, a := range []action{actionCreate, actionChange, actionDestroy, actionBlocked, actionWaiting, actionUnknown} {
		if manual := manuals["plan.md"]; !strings.Contains(manual, "\n| `"+a.symbol()+"` | ") || !strings.Contains(manual, "`"+string(a)+"`") {
			t.Errorf("docs/plan.md: got no row for the action %s", a)
		}
	}
}

// scriptFile returns a file of a script.
func scriptFile(t *testing.T, script, name string) string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("..", "..", "testdata", "script", script))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	t.Fatalf("%s: got no file %s", script, name)
	return ""
}
