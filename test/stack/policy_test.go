//go:build integration

package stack

import (
	"errors"
	"testing"

	"gitops-agent/verify"
)

// newPolicy returns one that trusts a Sigstore, takes the first tip as it comes, and binds by trailer unless edit says otherwise.
func newPolicy(t *testing.T, trustedRoot []byte, edit func(*verify.Options), signers ...verify.Signer) *verify.Policy {
	t.Helper()
	opts := verify.Options{
		TrustedRoot: trustedRoot, Signers: signers, Branch: "main", Target: "home/main", Binding: verify.BindingTrailer, TrustOnFirstUse: true,
	}
	if edit != nil {
		edit(&opts)
	}
	policy, err := verify.NewPolicy(opts)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

const trailer = "Gitops-Target: home/main"

// alice is the person whom most policies trust.
func (s *sigstore) alice() verify.Signer {
	return verify.Signer{Name: "alice", Issuer: s.people.url, Subject: "alice@lab.test", May: []verify.Role{verify.RoleChange}}
}

func (s *sigstore) aliceLogsIn() login { return login{token: s.people.person("alice@lab.test")} }

// auditFlags are for the verify command without a config.
func (s *sigstore) auditFlags(signer verify.Signer, args ...string) []string {
	return append([]string{"--trusted-root", s.path("trusted_root.json"), "--signer", signer.Issuer + "=" + signer.Subject}, args...)
}

func wantRefused(t *testing.T, verdict verify.Verdict, reason verify.Reason) {
	t.Helper()
	if verdict.Accepted || verdict.Reason != reason {
		t.Errorf("got accepted %t, reason %q, %v, want %q", verdict.Accepted, verdict.Reason, verdict.Err, reason)
	}
}

// reasonOf returns why a revision was refused, and "" if it was not.
func reasonOf(err error) verify.Reason {
	var rejected *verify.RejectedError
	if errors.As(err, &rejected) {
		return rejected.Reason
	}
	return ""
}
