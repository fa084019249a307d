//go:build integration

package stack

import (
	"bytes"
	"strings"
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"
)

// TestRefusals makes commits with gitsign that must be refused, and expects the reason from the library, and the reason and
// the remedy from the program.
func TestRefusals(t *testing.T) {
	s := startSigstore(t)
	policy := newPolicy(t, s.trustedRoot(), nil, s.alice())
	signed := func(who login) func(*repository) gitsource.ID {
		return func(r *repository) gitsource.ID { return r.as(s, who).commit("a change", trailer) }
	}
	changed := func(old, replacement string) func(*repository) gitsource.ID {
		return func(r *repository) gitsource.ID {
			raw := r.raw("commit", r.as(s, s.aliceLogsIn()).commit("a change", trailer))
			if !bytes.Contains(raw, []byte(old)) {
				t.Fatalf("got\n%s\nwant %q in it", raw, old)
			}
			return r.place("commit", bytes.Replace(raw, []byte(old), []byte(replacement), 1))
		}
	}
	alice := s.people.person("alice@lab.test")
	for name, test := range map[string]struct {
		make   func(*repository) gitsource.ID
		reason verify.Reason
		remedy string
	}{
		"another_person":  {signed(login{token: s.people.person("mallory@lab.test")}), verify.ReasonWrongIdentity, "add it to trust.signers"},
		"longer_address":  {signed(login{token: s.people.person("alice@lab.test.example")}), verify.ReasonWrongIdentity, "letter by letter"},
		"no_timestamp":    {signed(login{token: alice, noTimestamp: true}), verify.ReasonNoTrustedTime, "gitsign.timestampServerURL"},
		"online":          {signed(login{token: alice, mode: "online"}), verify.ReasonOnlineOnly, "git config gitsign.rekorMode offline"},
		"message_changed": {changed("a change", "another change"), verify.ReasonContentMismatch, "changed after it was signed"},
		"author_changed":  {changed("author Alice", "author Bob"), verify.ReasonContentMismatch, "changed after it was signed"},
		"not_signed": {func(r *repository) gitsource.ID {
			r.git("commit", "--quiet", "--allow-empty", "--no-gpg-sign", "-m", "not signed")
			return r.id("HEAD")
		}, verify.ReasonUnsigned, "gitsign.rekorMode offline"},
		"signature_of_another": {func(r *repository) gitsource.ID {
			r.as(s, s.aliceLogsIn())
			one, two := string(r.raw("commit", r.commit("one"))), string(r.raw("commit", r.commit("two")))
			return r.place("commit", []byte(strings.Replace(two, signatureOf(t, two), signatureOf(t, one), 1)))
		}, verify.ReasonContentMismatch, "the signature was copied"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			id := test.make(r)
			wantRefused(t, policy.Audit(t.Context(), r.open(), id), test.reason)
			if _, err := policy.Check(t.Context(), r.open(), id, verify.Base{}); reasonOf(err) != test.reason {
				t.Errorf("Check: got %v, want %q", err, test.reason)
			}
			r.verify(4, s.auditFlags(s.alice(), "--explain", string(id)), string(test.reason), "remedy: ", test.remedy)
		})
	}
}

// signatureOf returns the signature header of a raw commit.
func signatureOf(t *testing.T, raw string) string {
	t.Helper()
	_, rest, found := strings.Cut(raw, "\ngpgsig ")
	signature, _, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		t.Fatalf("got\n%s\nwant a signature", raw)
	}
	return signature
}

// TestForeignSigstores: a policy of one Sigstore refuses commits of another, in both directions.
func TestForeignSigstores(t *testing.T) {
	s := startSigstore(t)
	other, err := sigtest.New(sigtest.Options{Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	otherRoot, err := other.TrustedRoot()
	if err != nil {
		t.Fatal(err)
	}
	r := newRepository(t).as(s, s.aliceLogsIn())
	id := r.commit("a change", trailer)
	wantRefused(t, newPolicy(t, otherRoot, nil, s.alice()).Audit(t.Context(), r.open(), id), verify.ReasonUntrustedLog)

	alice := sigtest.Identity{Subject: "alice@lab.test", Issuer: s.people.url}
	raw, _, err := other.Commit(sigtest.CommitSpec{Message: "a change\n\n" + trailer}, alice, sigtest.SignOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wantRefused(t, newPolicy(t, s.trustedRoot(), nil, s.alice()).Audit(t.Context(), r.open(), r.place("commit", raw)), verify.ReasonUntrustedLog)
}

// TestHintMakesItRight signs in gitsign's default mode and then runs the commands of the agent's hint exactly as printed.
func TestHintMakesItRight(t *testing.T) {
	s := startSigstore(t)
	r := newRepository(t).as(s, s.aliceLogsIn())
	delete(r.env, "GITSIGN_REKOR_MODE")
	policy := newPolicy(t, s.trustedRoot(), nil, s.alice())
	verdict := policy.Audit(t.Context(), r.open(), r.commit("a change", trailer))
	wantRefused(t, verdict, verify.ReasonOnlineOnly)
	configure, sign, found := strings.Cut(verdict.Hint, ", then sign again: ")
	if !found {
		t.Fatalf("hint: got %q, want two commands", verdict.Hint)
	}
	for _, command := range []string{configure, sign} {
		words := strings.Fields(command)
		if words[0] != "git" {
			t.Fatalf("hint: got %q, want a git command", command)
		}
		r.git(words[1:]...)
	}
	if verdict := policy.Audit(t.Context(), r.open(), r.id("HEAD")); !verdict.Accepted {
		t.Errorf("after the hint: got %v, want it accepted", verdict.Err)
	}
}
