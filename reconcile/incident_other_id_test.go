package reconcile_test

import (
	"testing"

	"gitops-agent/internal/sigtest"
)

// A remote serves a signed commit once under another id, with another valid proof of the same signature's content, and then the commit itself with commits
// above. The agent must follow the branch, and not take it for a rewritten one.
func TestIncidentCommitServedUnderAnotherID(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 3Gi}")
		spec := sigtest.CommitSpec{Tree: l.repo.Tree(), Message: "more memory", Parents: []string{l.repo.Tip}}
		raw, honest, err := l.sig.Commit(spec, alice, sigtest.SignOptions{})
		l.ok(err)
		l.repo.Place(raw, honest)
		raw, served, err := l.sig.Commit(spec, alice, sigtest.SignOptions{})
		l.ok(err)
		l.repo.Place(raw, served)
		l.engine.Hint()
		l.waitForAcceptance(served)

		l.repo.SetMain(honest)
		l.repo.Tip = honest
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 4Gi}")
		l.waitForAcceptance(l.push("still more memory", alice))
		l.converge()
		if got := l.sim.Value(201, "memory"); got != "4096" {
			t.Errorf("got memory %s, want 4096", got)
		}
	})
}
