package verify_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"
)

func TestAudit(t *testing.T) {
	t.Parallel()
	l := newTestRepo(t)
	id := l.commit(draft{by: workflow, tree: l.tree("a=1"), message: "change\n\nGitops-Target: lab/main"})
	v := l.policy(func(o *verify.Options) { trustWorkflow(func(*verify.Extensions) {})(l, o) }).Audit(t.Context(), l.repo, id)
	if !v.Accepted || v.Err != nil || v.Signer != "merge" || v.Subject != workflow.Subject || v.Target != "lab/main" {
		t.Errorf("got %+v, want it accepted with signer and target", v)
	}
	if got := v.Run(); got.SourceRepositoryIdentifier != workflow.Extensions.SourceRepositoryIdentifier || got.BuildConfigURI != workflow.Extensions.BuildConfigURI || got.RunnerEnvironment == "" {
		t.Errorf("got extensions %+v, want those of the certificate", got)
	}
	if v.Run().BuildSignerURI != workflow.Extensions.BuildSignerURI || v.Run().SourceRepositoryRef != "refs/heads/main" || !v.ProvenTime.Equal(l.now) || v.Log == "" {
		t.Errorf("got %+v, want workflow, ref, log and proven time", v)
	}
}

// TestAuditReportsUntrustedIdentity: a refusal for the identity contains the identity that signed.
func TestAuditReportsUntrustedIdentity(t *testing.T) {
	t.Parallel()
	l := newTestRepo(t)
	v := l.policy().Audit(t.Context(), l.repo, l.commit(draft{by: mallory}))
	if v.Accepted || v.Reason != verify.ReasonWrongIdentity || v.Subject != mallory.Subject || v.Signer != "" || v.Hint == "" {
		t.Errorf("got %+v, want a refusal with mallory's subject", v)
	}
}

func TestAuditJudgesTheChange(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	p := s.policy(addSigner(approver(bob)))
	d := s.on(s.next)
	d.by = bob
	if v := p.Audit(t.Context(), s.repo, s.commit(d)); !v.Accepted {
		t.Errorf("approval: got %v, want it accepted", v.Err)
	}
	d.tree = s.first
	if v := p.Audit(t.Context(), s.repo, s.commit(d)); v.Reason != verify.ReasonMissingRole {
		t.Errorf("change by an approver: got %v, want %s", v.Err, verify.ReasonMissingRole)
	}
}

func TestAuditTag(t *testing.T) {
	t.Parallel()
	l := newTestRepo(t)
	commit := l.commit(draft{})
	raw, _, err := l.sig.Tag(sigtest.TagSpec{Object: string(commit), Name: "v1", Message: "release"}, alice, sigtest.SignOptions{At: l.now.Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	p := l.policy()
	if v := p.AuditTag(t.Context(), l.repo, l.object("tag", raw), ""); !v.Accepted || v.Signer != "alice" {
		t.Errorf("got %+v, want it accepted", v)
	}
	for ref, want := range map[string]verify.Reason{
		"refs/tags/v1": "", "refs/tags/v9.9.9-security-fix": verify.ReasonWrongName, "refs/heads/v1": verify.ReasonWrongName, "refs/tags/x/v1": verify.ReasonWrongName,
	} {
		v := p.AuditTag(t.Context(), l.repo, l.object("tag", raw), ref)
		if v.Reason != want || v.Accepted != (want == "") || v.Signer != "alice" || v.Name != "v1" || v.Points != commit || v.PointsTo != "commit" {
			t.Errorf("%s: got %+v, want %q for the tag v1 of alice", ref, v, want)
		}
	}
	altered := replace("release", "retract")(l, raw)
	if v := p.AuditTag(t.Context(), l.repo, l.object("tag", altered), ""); v.Reason != verify.ReasonContentMismatch {
		t.Errorf("altered: got %v, want %s", v.Err, verify.ReasonContentMismatch)
	}
	large := l.object("tag", append(raw, make([]byte, 1<<20)...))
	if v := p.AuditTag(t.Context(), l.repo, large, ""); v.Reason != verify.ReasonTooLarge {
		t.Errorf("large: got %v, want %s", v.Err, verify.ReasonTooLarge)
	}
	unsigned := sigtest.TagSpec{Object: string(commit), Name: "v2", Message: "x"}.Payload(l.now)
	if v := p.AuditTag(t.Context(), l.repo, l.object("tag", unsigned), ""); v.Reason != verify.ReasonUnsigned {
		t.Errorf("unsigned: got %v, want %s", v.Err, verify.ReasonUnsigned)
	}
}

func TestAuditSeparatesReadErrors(t *testing.T) {
	t.Parallel()
	l := newTestRepo(t)
	v := l.policy().AuditTag(t.Context(), l.repo, gitsource.ID("1111111111111111111111111111111111111111"), "")
	if v.Accepted || v.Err == nil || v.Reason != "" {
		t.Errorf("got %+v, want an error that is not a refusal", v)
	}
}

// A verdict has the first line of the message, also of a commit that proves nothing, and never more than a bounded part of it.
func TestAuditHasTheTitle(t *testing.T) {
	t.Parallel()
	l := newTestRepo(t)
	for message, want := range map[string]string{
		"change a guest\n\nand more": "change a guest", "\nsecond line": "", strings.Repeat("é", 100): strings.Repeat("é", 80), "x\xff": "x",
	} {
		if got := l.policy().Audit(t.Context(), l.repo, l.unsigned(draft{message: message})).Title; got != want {
			t.Errorf("%q: got the title %q, want %q", message, got, want)
		}
	}
}

// A signed tag does not count at a ref with another name, wherever it points.
func TestIncidentSignedTagAtAnotherRef(t *testing.T) {
	t.Parallel()
	l := newTestRepo(t)
	raw, _, err := l.sig.Tag(sigtest.TagSpec{Object: string(l.commit(draft{})), Name: "v1", Message: "release"}, alice, sigtest.SignOptions{At: l.now.Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	tag := l.object("tag", raw)
	if v := l.policy().AuditTag(t.Context(), l.repo, tag, "refs/tags/v9.9.9-security-fix"); v.Accepted || v.Reason != verify.ReasonWrongName {
		t.Errorf("got %+v, want %s", v, verify.ReasonWrongName)
	}
}
