package planview

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"gitops-agent/reconcile/reason"
)

// shownOutput matches a block of a page with the expected output of a script: "~~~~text plan.txtar/differs.txt".
var shownOutput = regexp.MustCompile(`(?ms)^~~~~(\w+) ([\w.]+)/([\w.]+)\n.*?^~~~~$`)

// docs/plan.md shows the expected outputs of the scripts, which -update copies; it names every reason to hold a step, every symbol and action.
func TestPlanManualMatchesScripts(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "..", "docs", "plan.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	manual := shownOutput.ReplaceAllStringFunc(string(text), func(block string) string {
		blocks++
		name := shownOutput.FindStringSubmatch(block)
		return "~~~~" + name[1] + " " + name[2] + "/" + name[3] + "\n" + scriptFile(t, name[2], name[3]) + "~~~~"
	})
	if blocks < 6 {
		t.Errorf("got %d outputs in docs/plan.md, want at least 6", blocks)
	}
	if diff := cmp.Diff(manual, string(text)); diff != "" && !*update {
		t.Errorf("docs/plan.md (-want +got):\n%s", diff)
	}
	if *update {
		if err := os.WriteFile(path, []byte(manual), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, reason := range reason.Holds() {
		if !strings.Contains(manual, "\n| `"+string(reason)+"` | ") {
			t.Errorf("docs/plan.md: got no row for steps held by %s", reason)
		}
	}
	for _, a := range []action{actionCreate, actionChange, actionDestroy, actionBlocked, actionWaiting, actionUnknown} {
		if !strings.Contains(manual, "\n| `"+a.symbol()+"` | ") || !strings.Contains(manual, "`"+string(a)+"`") {
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
