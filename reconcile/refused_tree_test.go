package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"gitops-agent/reconcile"
	"gitops-agent/reconcile/report"
)

// A signed commit whose tree can never be read is refused with the remedy, and no failed poll that is tried again. The revision in force stays.
func TestTreesBeyondTheLimitsAreRefused(t *testing.T) {
	t.Parallel()
	paths := func(o *reconcile.Options) { o.Scope.Paths = []string{"."} }
	for name, tt := range map[string]struct {
		change func(l *lab)
		words  string
	}{
		"large_file": {func(l *lab) { l.files["large.yaml"] = strings.Repeat("# comment\n", 200_000) }, "large.yaml"},
		"many_bytes": {func(l *lab) {
			for i := range 70 {
				l.files[fmt.Sprintf("part-%d.yaml", i)] = strings.Repeat("# comment\n", 100_000)
			}
		}, "files together"},
		"folder_absent": {func(l *lab) { l.opts.Scope.Paths = []string{"cluster.yaml", "absent"} }, "absent"},
	} {
		t.Run(name, func(t *testing.T) {
			runLab(t, []labOption{paths}, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
				first := l.push("one guest", alice)
				if r := l.once(); !r.Converged {
					t.Fatalf("got %+v, want a converged cluster", r.Source)
				}
				tt.change(l)
				l.push("too large", alice)
				got := l.once().Source
				if got.Refused == nil || got.Refused.Reason != report.RefusedTree || got.Refused.Hint == "" || !strings.Contains(got.Refused.Error, tt.words) {
					t.Errorf("got %+v and the error %q, want a refusal with the reason %s that names %q", got.Refused, got.Error, report.RefusedTree, tt.words)
				}
				if got.Accepted == nil || got.Accepted.Commit != first {
					t.Errorf("got %+v in force, want %s", got.Accepted, first)
				}
			})
		})
	}
}
