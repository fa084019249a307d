package report_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/report"
)

// TestLateTextNamesTheComponent wants words for every component, also for the parts of a reading of the cluster: "has not answered  for 8 s" tells nothing.
func TestLateTextNamesTheComponent(t *testing.T) {
	t.Parallel()
	now := time.Unix(1764374461, 0)
	for _, c := range append(report.Components(), "list", "guests", "ha", "ready", "files", "datacenter", "objects") {
		late := report.Late{Component: c, Remote: "https://git.example.org/home", Calls: 1, Since: now.Add(-8 * time.Second)}
		if text := late.Text(now); strings.Contains(text, "  ") || !strings.Contains(text, "8 s") {
			t.Errorf("%s: got %q, want what is late, and since when", c, text)
		}
	}
}
