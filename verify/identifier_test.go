package verify_test

import (
	"errors"
	"testing"
	"time"

	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"
)

// An identifier states who signed, whether or not a policy would accept it, and what a signature without proof claims. It accepts nothing.
func TestIdentifier(t *testing.T) {
	t.Parallel()
	l := newTestRepo(t)
	root, err := l.sig.TrustedRoot()
	if err != nil {
		t.Fatal(err)
	}
	identifier, err := verify.NewIdentifier(root)
	if err != nil {
		t.Fatal(err)
	}
	online := sigtest.SignOptions{Log: sigtest.Absent()}
	byMallory := l.commit(draft{by: mallory})
	for name, test := range map[string]struct {
		v                verify.Verdict
		reason           verify.Reason
		subject, claimed string
	}{
		"stranger": {identifier.Audit(t.Context(), l.repo, byMallory), "", mallory.Subject, ""},
		"online":   {identifier.Audit(t.Context(), l.repo, l.commit(draft{sign: online})), verify.ReasonOnlineOnly, "", alice.Subject},
		"unsigned": {identifier.Audit(t.Context(), l.repo, l.unsigned(draft{})), verify.ReasonUnsigned, "", ""},
		"policy":   {l.policy().Audit(t.Context(), l.repo, l.commit(draft{sign: online})), verify.ReasonOnlineOnly, "", alice.Subject},
	} {
		if test.v.Accepted || test.v.Reason != test.reason || test.v.Subject != test.subject || test.v.ClaimedSubject != test.claimed {
			t.Errorf("%s: got %+v, want reason %q, subject %q and claim %q, not accepted", name, test.v, test.reason, test.subject, test.claimed)
		}
		if (test.claimed == "") != (test.v.ClaimedIssuer == "") || (test.subject == "") != test.v.ProvenTime.IsZero() {
			t.Errorf("%s: got %+v, want issuer and time where there is a subject", name, test.v)
		}
	}
	raw, _, err := l.sig.Tag(sigtest.TagSpec{Object: string(byMallory), Name: "v1", Message: "release"}, mallory, sigtest.SignOptions{At: l.now.Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	if v := identifier.AuditTag(t.Context(), l.repo, l.object("tag", raw), "refs/tags/other"); v.Subject != mallory.Subject || v.Accepted || v.Payload == "" {
		t.Errorf("tag: got %+v, want the identity that signed it", v)
	}
	if _, err := verify.NewIdentifier([]byte("{}")); err == nil {
		t.Error("got an identifier without authorities, want an error")
	}
}

// A timestamp that a policy requires does not matter to who signed.
func TestIdentifierOfAPolicy(t *testing.T) {
	t.Parallel()
	l := newTestRepo(t)
	p, id := l.policy(func(o *verify.Options) { o.Timestamps = verify.TimestampRequired }), l.commit(draft{})
	identifier, err := p.Identifier()
	if err != nil {
		t.Fatal(err)
	}
	if v := p.Audit(t.Context(), l.repo, id); v.Reason != verify.ReasonNoTimestamp {
		t.Errorf("policy: got %+v, want %s", v, verify.ReasonNoTimestamp)
	}
	if v := identifier.Audit(t.Context(), l.repo, id); v.Subject != alice.Subject {
		t.Errorf("identifier: got %+v, want %s", v, alice.Subject)
	}
	var rejected *verify.RejectedError
	if v := identifier.Audit(t.Context(), l.repo, "0123456789012345678901234567890123456789"); !errors.As(v.Err, &rejected) || v.Reason != verify.ReasonIncompleteHistory {
		t.Errorf("missing commit: got %+v, want %s", v, verify.ReasonIncompleteHistory)
	}
}
