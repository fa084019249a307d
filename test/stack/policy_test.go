//go:build integration

package stack

import (
	"errors"
	"testing"

	"gitops-agent/verify"
)

// newPolicy returns a policy with the given trusted root and signers, trust on first use, and the binding by trailer. The
// function edit can change its options.
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

// alice returns the signer that most policies trust.
func (s *sigstore) alice() verify.Signer {
	return verify.Signer{Name: "alice", Issuer: s.people.url, Subject: "alice@lab.test", May: []verify.Role{verify.RoleChange}}
}

func (s *sigstore) aliceLogsIn() login { return login{token: s.people.person("alice@lab.test")} }

// auditFlags returns the flags of the verify command without a config.
func (s *sigstore) auditFlags(signer verify.Signer, args ...string) []string {
	return append([]string{"--trusted-root", s.path("trusted_root.json"), "--signer", signer.Issuer + "=" + signer.Subject}, args...)
}

func wantRefused(t *testing.T, verdict verify.Verdict, reason verify.Reason) {
	t.Helper()
	if verdict.Accepted || verdict.Reason != reason {
		t.Errorf("got accepted %t, reason %q, %v, want %q", verdict.Accepted, verdict.Reason, verdict.Err, reason)
	}
}

// reasonOf returns the reason of a refusal, and "" for any other error or none.
func reasonOf(err error) verify.Reason {
	var rejected *verify.RejectedError
	if errors.As(err, &rejected) {
		return rejected.Reason
	}
	return ""
}
