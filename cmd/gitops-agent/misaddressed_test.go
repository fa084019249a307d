package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/report"
)

// TestMisaddressedCommitInEveryOutlet pushes two commits whose Gitops-Target is no Cluster of the repository. Every outlet says that the branch is ahead, and whom they name, and a
// wait for such a commit ends.
func TestMisaddressedCommitInEveryOutlet(t *testing.T) {
	t.Parallel()
	o := newOutlets(t)
	o.config.Trust.Binding = "trailer"
	alice := people()["alice"]
	o.repo.Push(o.sig, alice, "one guest\n\nGitops-Target: home/main\n")
	o.start()
	o.until("convergence", func(r report.Report) bool { return r.Converged })
	web := o.repo.Files["web.yaml"]
	o.repo.Files["web.yaml"] = strings.Replace(web, "1Gi}\n", "2Gi}\n", 1)
	o.repo.Push(o.sig, alice, "more memory\n\nGitops-Target: hme/main\n")
	o.repo.Files["web.yaml"] = web
	tip := o.repo.Push(o.sig, alice, "and back\n\nGitops-Target: hme/main\n")
	o.until("the commits ahead", func(r report.Report) bool {
		return r.Source.Ahead != nil && r.Source.Ahead.Commit == tip && o.log.has("revision.unnamed")
	})
	seen := o.agent.Report().Cycle
	o.until("the next report", func(r report.Report) bool { return r.Cycle > seen })

	const ahead = "the branch is 2 commits ahead, up to %.10s, for other targets only: hme/main; no manifest of the kind Cluster in the repository has the name that they give: hme/main"
	const hint = "Gitops-Target: home/main"
	want := fmt.Sprintf(ahead, tip)
	if _, page := o.get("/"); !strings.Contains(page, strings.TrimPrefix(want, "the ")) || !strings.Contains(page, hint) {
		o.Errorf("got a page without %q and the remedy", want)
	}
	_, body := o.get("/status.json")
	var document report.Document
	o.ok(json.Unmarshal([]byte(body), &document))
	if a := document.Source.Ahead; a == nil || a.Commits != 2 || a.Misaddressed != 2 || len(a.Unknown) != 1 || !document.Converged {
		o.Errorf("/status.json: got %+v, want both commits, and the revision in force converged", a)
	}
	if shown := statusText(document.Report); !strings.Contains(shown, want) || !strings.Contains(shown, hint) {
		o.Errorf("gitops-agent status: got no %q with the remedy in\n%s", want, shown)
	}
	_, body = o.get("/metrics")
	for _, sample := range []string{`gitops_agent_source_commits_ahead{targets="others"} 0`, `gitops_agent_source_commits_ahead{targets="unknown"} 2`} {
		if !strings.Contains(body, sample) {
			o.Errorf("/metrics: got no %s, want it", sample)
		}
	}
	for revision, status := range map[string]int{tip: term.ExitRefused, tip[:10]: term.ExitRefused, o.agent.Report().Source.Accepted.Commit: 0} {
		var out, problems bytes.Buffer
		got := (&program{out: &out, err: &problems, claimWait: claimWait}).run(context.WithoutCancel(o.Context()), []string{"status", "--url", "http://" + o.agent.Address(), "--wait", "converged", "--revision", revision, "--timeout", "5m"})
		if got != status || status != 0 && (!strings.Contains(problems.String(), "no manifest of the kind Cluster") || !strings.Contains(problems.String(), hint)) {
			o.Errorf("status --wait --revision %.10s: got %d %s, want %d", revision, got, problems.String(), status)
		}
	}
}
