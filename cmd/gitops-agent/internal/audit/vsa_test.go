package audit

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/attest"
	"gitops-agent/verify"
)

const tipID = gitsource.ID("0123456789012345678901234567890123456789")

// summary returns the statement of a result.
func summary(t *testing.T, r Result) attest.Statement[vsaPredicate] {
	t.Helper()
	var b strings.Builder
	by := Verifier{ID: "https://example.org/audits", Resource: "git+https://example.org/a.git", Version: "v1", Time: time.Unix(1_700_000_000, 5)}
	if err := r.WriteVSA(&b, by); err != nil {
		t.Fatal(err)
	}
	var s attest.Statement[vsaPredicate]
	if err := json.Unmarshal([]byte(b.String()), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// A summary names the tip, the verifier and the policy. It passed only if nothing is refused, and its level says what was audited.
func TestVSA(t *testing.T) {
	t.Parallel()
	good := verdict{kind: kindCommit, Verdict: verify.Verdict{Object: tipID, Accepted: true}}
	bad := verdict{kind: kindCommit, Verdict: verify.Verdict{Object: tipID, Reason: verify.ReasonUnsigned, Err: &verify.RejectedError{Reason: verify.ReasonUnsigned}}}
	for name, test := range map[string]struct {
		verdicts      []verdict
		isRange       bool
		missed        int
		result, level string
	}{
		"commit":  {[]verdict{good}, false, 0, "PASSED", "GITOPS_AGENT_OBJECT"},
		"range":   {[]verdict{good, good}, true, 0, "PASSED", "GITOPS_AGENT_ALL_COMMITS"},
		"sides":   {[]verdict{good, good}, true, 3, "PASSED", "GITOPS_AGENT_FIRST_PARENT"},
		"refused": {[]verdict{good, bad}, true, 0, "FAILED", "FAILED"},
	} {
		r := Result{document: newDocument("..main", test.verdicts), isRange: test.isRange, subject: vsaSubject(selection{tip: tipID}), policy: [32]byte{1}}
		r.document.NotAudited = notAudited{sides: test.missed}.view()
		s := summary(t, r)
		p := s.Predicate
		if s.Type != "https://in-toto.io/Statement/v1" || s.PredicateType != "https://slsa.dev/verification_summary/v1" ||
			len(s.Subject) != 1 || s.Subject[0].Digest["gitCommit"] != string(tipID) || s.Subject[0].Annotations["revision"] != "..main" {
			t.Errorf("%s: got %+v, want a statement about the tip", name, s)
		}
		if p.VerificationResult != test.result || !slices.Equal(p.VerifiedLevels, []string{test.level}) {
			t.Errorf("%s: got %s with %s, want %s with %s", name, p.VerificationResult, p.VerifiedLevels, test.result, test.level)
		}
		if p.Verifier.ID != "https://example.org/audits" || p.ResourceURI != "git+https://example.org/a.git" || !strings.HasPrefix(p.Policy.Digest["sha256"], "0100") ||
			!p.TimeVerified.Equal(time.Unix(1_700_000_000, 0)) {
			t.Errorf("%s: got %+v, want verifier, repository, policy and time", name, p)
		}
	}
	var none strings.Builder
	for name, r := range map[string]Result{
		"no_resource": {document: Document{all: []verdict{good}}, subject: vsaSubject(selection{tip: tipID})},
		"no_commit":   {resource: "git+https://example.org/a.git", subject: vsaSubject(selection{tip: tipID})},
	} {
		if err := r.WriteVSA(&none, Verifier{ID: "https://example.org/audits"}); err == nil || none.Len() > 0 {
			t.Errorf("%s: got %v and %q, want an error and nothing printed", name, err, none.String())
		}
	}
	if err := (Verifier{ID: "no uri"}).Check(); term.ExitStatus(err) != term.ExitUsage {
		t.Errorf("got %v for a verifier without a URI, want a usage error", err)
	}
}

func TestVSASubject(t *testing.T) {
	t.Parallel()
	got := vsaSubject(selection{tag: tipID, ref: "refs/tags/v1", commits: []gitsource.ID{tipID}})
	if len(got) != 2 || got[0].Digest["gitCommit"] == "" || got[1].Digest["gitTag"] == "" || got[1].Name != "refs/tags/v1" {
		t.Errorf("got %+v, want the commit and its tag", got)
	}
}

func TestResourceOf(t *testing.T) {
	t.Parallel()
	config := agent.Config{Source: agent.SourceConfig{Remotes: []agent.RemoteConfig{{URL: "git@example.org:lab/a.git"}}}}
	for where, want := range map[string]string{
		"": "git+ssh://git@example.org/lab/a.git", "https://example.org/b.git": "git+https://example.org/b.git", "ssh://git@h/c": "git+ssh://git@h/c", ".": "",
	} {
		if got := resourceOf(where, config); got != want {
			t.Errorf("%q: got %q, want %q", where, got, want)
		}
	}
}
