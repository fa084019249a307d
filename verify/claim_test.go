package verify_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"
)

// A workflow whose subject is that of a signer and whose claims are not is refused with the claims that differ. Otherwise the refusal names the identity.
func TestWrongClaimsAreNamed(t *testing.T) {
	t.Parallel()
	l := newTestRepo(t)
	policy := l.policy(func(o *verify.Options) { anyWorkflow(l, o) })
	for name, test := range map[string]struct {
		by   sigtest.Identity
		want []verify.Claim
	}{
		"other_ref": {sigtest.GitHubWorkflow("lab/guests", "merge.yaml", "refs/heads/evil"), []verify.Claim{
			{Name: "source_repository_ref", Got: "refs/heads/evil", Want: "refs/heads/main"},
		}},
		"other_repository": {sigtest.GitHubWorkflow("lab/fork", "merge.yaml", "refs/heads/main"), []verify.Claim{
			{Name: "source_repository_uri", Got: "https://github.com/lab/fork", Want: "https://github.com/lab/guests"},
		}},
		"person": {by: alice},
	} {
		v := policy.Audit(t.Context(), l.repo, l.commit(draft{by: test.by}))
		var claims *verify.ClaimError
		if !errors.As(v.Err, &claims) {
			claims = &verify.ClaimError{}
		}
		if diff := cmp.Diff(test.want, claims.Claims); v.Reason != verify.ReasonWrongIdentity || diff != "" {
			t.Errorf("%s: got %v (-want +got):\n%s", name, v.Err, diff)
		}
	}
}
