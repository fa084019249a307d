//go:build integration

package stack

import (
	"os"
	"strings"
	"testing"

	"gitops-agent/verify"
)

// forge makes a bare repository, and pushes the branch of r there.
func (r *repository) forge() (dir string) {
	r.t.Helper()
	dir = r.t.TempDir()
	r.git("init", "--quiet", "--bare", "--initial-branch=main", dir)
	r.git("remote", "add", "origin", dir)
	return dir
}

// configure changes the agent's config.
func (c *cluster) configure(oldNew ...string) {
	c.t.Helper()
	text, err := os.ReadFile(c.path("config.yaml"))
	if err != nil {
		c.t.Fatal(err)
	}
	changed := strings.NewReplacer(oldNew...).Replace(string(text))
	if changed == string(text) {
		c.t.Fatalf("config: got no change by %q", oldNew)
	}
	c.write("config.yaml", changed)
}

// agent runs a command of the agent in the work tree, and expects texts in its output.
func (r *repository) agent(wants []string, args ...string) {
	r.t.Helper()
	out, err := r.run(agent.file(), args...)
	if err != nil {
		r.t.Fatalf("gitops-agent %q: %v\n%s", args, err, out)
	}
	for _, want := range wants {
		if !strings.Contains(out, want) {
			r.t.Errorf("gitops-agent %q: got\n%s\nwant %q", args, out, want)
		}
	}
}

// TestOnlineMode signs with gitsign as it is without settings: in the online mode, in Rekor v1. A commit waits for its evidence, which comes from the notes
// of the forge, or from the log itself.
func TestOnlineMode(t *testing.T) {
	s := startSigstore(t)
	s.startRekorV1()
	online := login{token: s.people.person("alice@lab.test"), rekorV1: true, noTimestamp: true, mode: "online"}
	r := newRepository(t).as(s, online)
	delete(r.env, "GITSIGN_REKOR_MODE") // the default
	forge := r.forge()
	c := newCluster(t, s, r)
	c.configure("timestamps: required", "timestamps: optional", "file://"+r.dir, "file://"+forge)
	push := func(cores string) {
		t.Helper()
		r.manifests(cores)
		r.push("cores " + cores)
		r.git("push", "--quiet", "origin", "main")
	}

	push("1")
	c.run(4, "no revision is accepted yet", "evidence-missing", "the remote has no notes refs/notes/gitops-evidence", "hint: gitops-agent evidence fetch A..B --rekor URL, then git push origin refs/notes/gitops-evidence")
	if n := c.sim.Writes(); n != 0 {
		t.Errorf("got %d writes without evidence, want none", n)
	}
	r.agent([]string{"1 of the online mode, 1 fetched"}, "evidence", "fetch", "HEAD", "--rekor", rekorV1URL)
	r.git("push", "--quiet", "origin", "refs/notes/gitops-evidence")
	c.run(0, "Cluster home: converged", "signed by alice@lab.test")
	c.cores("1")

	r.git("push", "--quiet", "origin", ":refs/notes/gitops-evidence")
	c.run(0, "Cluster home: converged") // the evidence is in the journal

	push("2")
	push("3")
	c.run(4, "evidence-missing")
	c.cores("1")
	c.configure("timestamps: optional", "timestamps: optional\n  rekor_url: "+rekorV1URL)
	c.run(0, "Cluster home: converged")
	c.cores("3")

	r.as(s, login{token: s.people.person("mallory@lab.test"), rekorV1: true, noTimestamp: true, mode: "online"})
	push("8")
	c.run(4, `got subject "mallory@lab.test"`)
	c.cores("3")
	r.git("reset", "--quiet", "--hard", "HEAD~1")

	r.as(s, online)
	r.verify(4, s.auditFlags(s.alice(), "HEAD"), "online-only")
	r.verify(0, s.auditFlags(s.alice(), "..HEAD", "--rekor", rekorV1URL), "3 accepted, 0 refused")
	if out, err := r.run(gitsign.file(), "verify", "--certificate-identity", "alice@lab.test", "--certificate-oidc-issuer", s.people.url, "HEAD"); err != nil {
		t.Errorf("gitsign verify: %v\n%s", err, out)
	}

	r.git("tag", "-m", "release", "v1")
	r.agent([]string{"1 tag, 1 commit: 2 of the online mode, 2 fetched"}, "evidence", "fetch", "v1", "--rekor", rekorV1URL)
	r.verify(0, s.auditFlags(s.alice(), "v1", "--evidence", "notes"), "2 accepted, 0 refused")
	policy := newPolicy(t, s.trustedRoot(), nil, s.alice())
	wantRefused(t, policy.AuditTag(t.Context(), r.open(), r.id("v1"), "refs/tags/v1"), verify.ReasonOnlineOnly)
}
