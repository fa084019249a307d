package reconcile_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"gitops-agent/reconcile/cluster"
)

// TestDocsListTheRuleOfEveryOperation compares the table of docs/internals/open-steps.md with the table of operations, both ways.
func TestDocsListTheRuleOfEveryOperation(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "internals", "open-steps.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := make(map[cluster.Op]cluster.LateCall)
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (\\w+) \\| .+ \\|$").FindAllStringSubmatch(string(page), -1) {
		op := cluster.Op(row[1])
		if op.Position() < 0 {
			t.Errorf("docs/internals/open-steps.md: got operation %s, want one of the table of operations", op)
		}
		documented[op] = cluster.LateCall(row[2])
	}
	for _, op := range cluster.Ops() {
		if got := documented[op]; got != op.Late() || got == "" {
			t.Errorf("docs/internals/open-steps.md: got late call %q of %s, want %q", got, op, op.Late())
		}
	}
}
