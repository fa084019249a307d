//go:build integration

package stack

import (
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// TestRekorV1 signs with Rekor v1, gitsign's default log. Rekor v1 signs the time of an entry, so a timestamp is optional.
func TestRekorV1(t *testing.T) {
	s := startSigstore(t)
	s.startRekorV1()
	r := newRepository(t)
	alice := s.people.person("alice@lab.test")
	release := s.workflows.workflow("example/homelab", "release.yaml")
	commit := func(who login, text string) gitsource.ID {
		who.rekorV1 = true
		return r.as(s, who).commit(text, trailer)
	}
	policy := newPolicy(t, s.trustedRoot(), nil, s.alice(), s.release())
	required := newPolicy(t, s.trustedRoot(), func(o *verify.Options) { o.Timestamps = verify.TimestampRequired }, s.alice())
	for name, test := range map[string]struct {
		policy *verify.Policy
		who    login
		reason verify.Reason // "" if the commit is accepted
	}{
		"log_alone":             {policy, login{token: alice, noTimestamp: true}, ""},
		"log_and_timestamp":     {policy, login{token: alice}, ""},
		"timestamp_required":    {required, login{token: alice}, ""},
		"timestamp_missing":     {required, login{token: alice, noTimestamp: true}, verify.ReasonNoTimestamp},
		"workflow":              {policy, login{token: release, noTimestamp: true}, ""},
		"another_person":        {policy, login{token: s.people.person("mallory@lab.test"), noTimestamp: true}, verify.ReasonWrongIdentity},
		"online":                {policy, login{token: alice, noTimestamp: true, mode: "online"}, verify.ReasonOnlineOnly},
		"online_with_timestamp": {policy, login{token: alice, mode: "online"}, verify.ReasonOnlineOnly},
	} {
		t.Run(name, func(t *testing.T) {
			verdict := test.policy.Audit(t.Context(), r.open(), commit(test.who, name))
			if verdict.Reason != test.reason || verdict.Accepted != (test.reason == "") {
				t.Errorf("got accepted %t, reason %q, %v, want %q", verdict.Accepted, verdict.Reason, verdict.Err, test.reason)
			}
			if verdict.Accepted && verdict.Log != "https://"+rekorV1Host {
				t.Errorf("log: got %q, want that of %s", verdict.Log, rekorV1Host)
			}
		})
	}
	r.as(s, login{token: alice, noTimestamp: true, rekorV1: true}).git("tag", "-m", "release", "v1")
	if verdict := policy.AuditTag(t.Context(), r.open(), r.id("v1"), "refs/tags/v1"); !verdict.Accepted {
		t.Errorf("tag: got %v, want it accepted", verdict.Err)
	}
	r.verify(0, s.auditFlags(s.alice(), "v1^{tag}"), "1 accepted, 0 refused")
}
