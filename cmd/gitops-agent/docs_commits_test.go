package main

import (
	"regexp"
	"strings"
	"testing"
)

// makesCommit matches a command that makes a commit on the branch that the agent follows.
var makesCommit = regexp.MustCompile(`(?m)^\s*(?:.*&& )?git (?:-c \S+ )*(?:commit|merge|revert)\b.*-S\b`)

// Every signed commit that a page makes names its target, or the page installs the hook that adds it before. An agent with the binding of the pages refuses
// others as wrong-target.
func TestDocCommitsNameTheirTarget(t *testing.T) {
	t.Parallel()
	found := 0
	for page, text := range manuals(t) {
		hook := false
		for _, b := range docBlocks(page, text) {
			if !b.isCommands() {
				continue
			}
			script := b.script()
			hook = hook || strings.Contains(script, "install -m 0755 examples/hooks/prepare-commit-msg") || strings.Contains(script, "gitops-agent init --repository")
			if !makesCommit.MatchString(script) {
				continue
			}
			found++
			if !hook && !strings.Contains(script, "Gitops-Target: ") {
				t.Errorf("%v: got a commit without Gitops-Target, want the trailer, or the hook in a block above:\n%s", b, script)
			}
		}
	}
	if found < 6 {
		t.Errorf("got %d blocks with commits, want those of the quickstart, adopt, recipes, signing, orders and verify", found)
	}
}
