//go:build integration

package metrics_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPromtool checks the rules, and runs their tests, with Prometheus's own program.
func TestPromtool(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatalf("%v: apt-get install prometheus", err)
	}
	tests, err := filepath.Glob("rules/tests/*.yaml")
	if err != nil || len(tests) == 0 {
		t.Fatalf("got %d files of tests: %v", len(tests), err)
	}
	for name, args := range map[string][]string{
		"rules": {"check", "rules", "--lint-fatal", "rules/recording.yaml", "rules/alerts.yaml"},
		"tests": append([]string{"test", "rules"}, tests...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
				t.Errorf("promtool %v: %v\n%s", args, err, out)
			}
		})
	}
}
