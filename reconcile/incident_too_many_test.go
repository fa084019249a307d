package reconcile_test

import (
	"strings"
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/internal/pvesim"
	"gitops-agent/verify"
)

// TestTooManyCommits pushes more commits at once than the agent verifies, and follows each remedy of the refusal. An anchor near the tip is none of them.
func TestTooManyCommits(t *testing.T) {
	t.Parallel()
	for name, remedy := range map[string]func(l *lab, steps []string, tip string){
		"steps": func(l *lab, steps []string, tip string) {
			for _, step := range append(steps, tip) {
				l.repo.SetMain(step)
				if r := l.once(); r.Source.Refused != nil || r.Source.Accepted.Commit != step {
					l.Fatalf("got the revision %+v, refused %+v, want %s in force", r.Source.Accepted, r.Source.Refused, step)
				}
			}
		},
		"allow_rewrite": func(l *lab, _ []string, tip string) { l.ok(l.opts.Note.Write(gitsource.ID(tip))) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, newSim(t, pvesim.Options{}))
			l.files["cluster.yaml"] = clusterYAML
			first := l.push("first", alice)
			l.once()
			var steps []string
			tip := ""
			for n := range 1001 {
				tip = l.push("again", alice)
				if n == 500 {
					steps = append(steps, tip)
				}
			}
			r := l.once()
			refused := r.Source.Refused
			if refused == nil || refused.Reason != string(verify.ReasonTooManyCommits) || !strings.Contains(refused.Hint, "above "+first) || !strings.Contains(refused.Hint, "gitops-agent allow-rewrite "+tip) {
				t.Fatalf("got %+v, want a refusal with the remedies that help", refused)
			}
			l.anchor = gitsource.ID(steps[0])
			l.trust(alice)
			if r := l.once(); r.Source.Refused == nil {
				t.Error("got the tip accepted because of a new anchor, and the remedy says that it has no effect")
			}
			remedy(l, steps, tip)
			if r := l.once(); r.Source.Refused != nil || r.Source.Accepted.Commit != tip {
				t.Errorf("got the revision %+v, refused %+v, want %s in force", r.Source.Accepted, r.Source.Refused, tip)
			}
		})
	}
}
