package docs_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gitops-agent/reconcile/reason"
)

// outlets are the files with texts for people. The help of the commands is in commands.md, and what the page and the commands say of a guest is in the tables of reasons and events.
func outlets(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{
		"*.md", "internals/*.md", "../README.md", "../reconcile/reason/*.go", "../reconcile/event/*.go", "../reconcile/plan/*.go", "../metrics/*.go", "../metrics/rules/*.yaml",
		"../internal/status/page/*.html", "../internal/status/page/*.go", "../internal/status/words/*.go", "../cmd/gitops-agent/internal/*view/*.go",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: got %d files and %v, want some", pattern, len(found), err)
		}
		files = append(files, slices.DeleteFunc(found, func(file string) bool { return strings.HasSuffix(file, "_test.go") })...)
	}
	return files
}

// TestWordsForSyncHaveOneMeaning compares the texts for people with the terms of concepts.md: each is defined once, none has a second word, and what is pending or waits is no drift.
func TestWordsForSyncHaveOneMeaning(t *testing.T) {
	t.Parallel()
	concepts := readText(t, "internals/concepts.md")
	for _, term := range []string{"In effect", "In sync", "Pending", "Waits for a restart", "Drift", "Waits", "Unknown"} {
		if n := strings.Count(concepts, "\n**"+term+".** "); n != 1 {
			t.Errorf("concepts.md: got %d definitions of %q, want one", n, term)
		}
	}
	synonym := regexp.MustCompile(`(?i)\b(out[- ]of[- ]date|dirty|diverge[sd]?|divergent|un-?synced|de-?synced|reboot (is )?(required|needed))\b`)
	for _, file := range outlets(t) {
		for i, line := range strings.Split(readText(t, file), "\n") {
			if word := synonym.FindString(line); word != "" {
				t.Errorf("%s:%d: got %q, want a word of concepts.md: in sync, pending, drift, waits for a restart", file, i+1, word)
			}
		}
	}
	drift, pending := regexp.MustCompile(`(?i)\bdrift`), regexp.MustCompile(`(?i)\bpending\b`)
	for _, row := range reason.Rows() {
		says := row.Sentence + " " + row.Docs
		isDrift := slices.Contains(row.Types, reason.TypeDrifted)
		if waits := slices.Contains(row.Types, reason.TypePending) || slices.Contains(row.Types, reason.TypePendingRestart) || slices.Contains(row.Types, reason.TypeWaitsFor); waits && drift.MatchString(says) || isDrift && pending.MatchString(says) {
			t.Errorf("reason %s: got %q, want drift and what is pending apart", row.Name, says)
		}
	}
	rules := strings.Split(readText(t, "../metrics/rules/alerts.yaml"), "- alert: ")[1:]
	for _, rule := range rules {
		expr, says, _ := strings.Cut(rule, "annotations:")
		if regexp.MustCompile(`guest_in_sync|restart_pending`).MatchString(expr) && drift.MatchString(says) || strings.Contains(expr, "drift") && pending.MatchString(says) {
			t.Errorf("alert %s: got %s, want drift and what is pending apart", strings.Fields(rule)[0], says)
		}
	}
}
