//go:build integration

package stack

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/verify"

	"github.com/google/go-cmp/cmp"
)

// TestPersonIsAccepted verifies a branch on which a person signs with gitsign, Rekor v2 and timestamps.
func TestPersonIsAccepted(t *testing.T) {
	s := startSigstore(t)
	r := newRepository(t).as(s, s.aliceLogsIn())
	began := time.Now().Truncate(time.Second)
	first := r.commit("the first guest", trailer)
	r.commit("a change")
	tip := r.commit("another change", trailer)
	repo := r.open()
	policy := newPolicy(t, s.trustedRoot(), func(o *verify.Options) { o.Timestamps = verify.TimestampRequired }, s.alice())

	verdict := policy.Audit(t.Context(), repo, tip)
	if verdict.ProvenTime.Before(began) || verdict.ProvenTime.After(time.Now().Add(time.Second)) {
		t.Errorf("proven time: got %s, want since %s", verdict.ProvenTime, began)
	}
	want := verify.Verdict{
		Object: tip, Accepted: true, Subject: "alice@lab.test", Issuer: s.people.url, Log: "https://" + rekorHost, LogIndex: 2,
		Title: "another change", Signer: "alice", Roles: []verify.Role{verify.RoleChange}, Target: "home/main",
		ProvenTime: verdict.ProvenTime, Certificate: verdict.Certificate, Payload: verdict.Payload, // these differ between runs
	}
	if diff := cmp.Diff(want, verdict); diff != "" || len(verdict.Payload) != 64 {
		t.Errorf("Audit (-want +got):\n%s", diff)
	}

	base := verify.Base{}
	for _, id := range []gitsource.ID{first, tip} {
		revision, err := policy.Check(t.Context(), repo, id, base)
		if err != nil {
			t.Fatalf("Check(%s): %v", id, err)
		}
		base = verify.Base{Commit: revision.Commit(), ProvenTime: revision.ProvenTime()}
	}
	if base.Commit != tip {
		t.Errorf("got %s, want %s", base.Commit, tip)
	}
	r.verify(0, s.auditFlags(s.alice(), "..main"), "..main: 3 accepted, 0 refused", "alice@lab.test")
	r.verify(0, s.auditFlags(s.alice(), "-o", "json"), `"accepted": 1`, `"log": "https://rekor.lab"`, `"target": "home/main"`)
}

// TestClone prepares a clone with init --repository. From then on git alone signs as the agent wants it, and verify needs no flags.
func TestClone(t *testing.T) {
	s := startSigstore(t)
	r := newRepository(t).as(s, s.aliceLogsIn())
	for _, key := range []string{"gpg.format", "gpg.x509.program", "commit.gpgsign"} { // init sets them
		r.git("config", "--unset", key)
	}
	delete(r.env, "GITSIGN_REKOR_MODE")
	r.env["PATH"] = filepath.Dir(gitsign.file()) + string(filepath.ListSeparator) + r.env["PATH"]
	signer := s.alice()
	for range 2 {
		out, err := r.run(agent.file(), "init", "--repository", ".", "--yes", "--signer", signer.Issuer+"="+signer.Subject, "--trusted-root", s.path("trusted_root.json"))
		if err != nil {
			t.Fatalf("gitops-agent init: %v\n%s", err, out)
		}
	}
	r.git("add", "cluster.yaml")
	r.git("commit", "--quiet", "-m", "the cluster")
	if got := r.git("log", "-1", "--format=%B"); got != "the cluster\n\n"+trailer {
		t.Errorf("got the message %q, want the trailer", got)
	}
	r.verify(0, []string{"HEAD"}, "HEAD: 1 accepted, 0 refused", signer.Issuer+"="+signer.Subject+" is the one accepted signer")
	r.verify(0, []string{"HEAD", "-o", "json"}, `"target": "home/main"`)
}

// release is the workflow that may change the cluster.
func (s *sigstore) release() verify.Signer {
	const repository, file = "https://github.com/example/homelab", "/.github/workflows/release.yaml@refs/heads/main"
	return verify.Signer{
		Name: "release", Issuer: s.workflows.url, Subject: repository + file, May: []verify.Role{verify.RoleChange},
		Extensions: verify.Extensions{
			BuildSignerURI: repository + file, RunnerEnvironment: "github-hosted", SourceRepositoryURI: repository,
			SourceRepositoryRef: "refs/heads/main", SourceRepositoryIdentifier: "414510697",
			SourceRepositoryOwnerURI: "https://github.com/example", SourceRepositoryOwnerIdentifier: "87436699",
			BuildConfigURI: repository + file, BuildTrigger: "push",
		},
	}
}

// TestWorkflowIsAccepted trusts one workflow of one repository by every claim of its certificate. Another workflow of the same
// repository and the same workflow of another repository are refused.
func TestWorkflowIsAccepted(t *testing.T) {
	s := startSigstore(t)
	r := newRepository(t)
	byCertificate := func(o *verify.Options) { o.Binding, o.Target = verify.BindingCertificate, "" }
	policy := newPolicy(t, s.trustedRoot(), byCertificate, s.release())

	id := r.as(s, login{token: s.workflows.workflow("example/homelab", "release.yaml")}).commit("made by a workflow")
	revision, err := policy.Check(t.Context(), r.open(), id, verify.Base{})
	if err != nil {
		t.Fatalf("Check: %v", err)
	}
	if got, want := revision.Signer(), (verify.Identity{Signer: "release", Issuer: s.workflows.url, Subject: s.release().Subject}); got != want {
		t.Errorf("Signer: got %+v, want %+v", got, want)
	}
	verdict := policy.Audit(t.Context(), r.open(), id)
	run := verdict.Run()
	got := []string{run.BuildSignerURI, run.SourceRepositoryURI, run.SourceRepositoryRef, run.BuildTrigger}
	if diff := cmp.Diff([]string{s.release().Subject, "https://github.com/example/homelab", "refs/heads/main", "push"}, got); diff != "" {
		t.Errorf("Audit (-want +got):\n%s", diff)
	}
	r.verify(0, s.auditFlags(s.release()), "HEAD: 1 accepted, 0 refused")

	for name, token := range map[string]string{
		"another_workflow":   s.workflows.workflow("example/homelab", "test.yaml"),
		"another_repository": s.workflows.workflow("mallory/homelab", "release.yaml"),
		"a_person":           s.people.person("alice@lab.test"),
	} {
		t.Run(name, func(t *testing.T) {
			id := r.as(s, login{token: token}).commit("made by " + name)
			wantRefused(t, policy.Audit(t.Context(), r.open(), id), verify.ReasonWrongIdentity)
		})
	}
}

// TestTags verifies annotated tags that gitsign signed.
func TestTags(t *testing.T) {
	s := startSigstore(t)
	r := newRepository(t).as(s, s.aliceLogsIn())
	r.commit("the first release")
	r.git("tag", "-m", "release", "v1")
	r.as(s, login{token: s.people.person("mallory@lab.test")}).git("tag", "-m", "release", "v2", "v1^{commit}")
	policy := newPolicy(t, s.trustedRoot(), nil, s.alice())
	audit := func(tag gitsource.ID) verify.Verdict { return policy.AuditTag(t.Context(), r.open(), tag, "") }

	if verdict := audit(r.id("v1")); !verdict.Accepted || verdict.Subject != "alice@lab.test" {
		t.Errorf("v1: got %+v, want it accepted", verdict)
	}
	wantRefused(t, audit(r.id("v2")), verify.ReasonWrongIdentity)
	moved := bytes.Replace(r.raw("tag", r.id("v1")), []byte("tag v1\n"), []byte("tag v3\n"), 1)
	wantRefused(t, audit(r.place("tag", moved)), verify.ReasonContentMismatch)
	r.verify(0, s.auditFlags(s.alice(), "v1"), "v1: 2 accepted, 0 refused")
	r.verify(4, s.auditFlags(s.alice(), "v2"), "v2: 1 accepted, 1 refused", "wrong-identity")
}

// TestSignedMerge merges an unsigned side branch locally with git and gitsign. The merge button of a forge cannot sign so.
func TestSignedMerge(t *testing.T) {
	s := startSigstore(t)
	r := newRepository(t).as(s, s.aliceLogsIn())
	first := r.commit("the first guest", trailer)
	r.git("checkout", "--quiet", "-b", "side")
	r.change("side.yaml", "1")
	r.git("commit", "--quiet", "--no-gpg-sign", "-m", "not signed")
	r.git("checkout", "--quiet", "main")
	r.git("merge", "--quiet", "--no-ff", "-S", "-m", "merge the side", "-m", trailer, "side")
	for history, reason := range map[verify.History]verify.Reason{
		verify.HistoryFirstParent: "", verify.HistoryTip: "", verify.HistoryAll: verify.ReasonUnsigned,
	} {
		policy := newPolicy(t, s.trustedRoot(), func(o *verify.Options) { o.History = history }, s.alice())
		base := verify.Base{Commit: first, ProvenTime: policy.Audit(t.Context(), r.open(), first).ProvenTime}
		_, err := policy.Check(t.Context(), r.open(), r.id("HEAD"), base)
		if got := reasonOf(err); got != reason {
			t.Errorf("%s: got %q, %v, want %q", history, got, err, reason)
		}
	}
}
