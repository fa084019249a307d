package audit

import (
	"fmt"
	"os"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/verify"
)

// policyOf returns a policy that says who signed and nothing about what an agent would accept: with neither config nor host there is
// no branch, no target and no start of trust. Policy.Audit asks for none of them; the values below are there because every policy has
// them, and are the ones that promise nothing. The signers may change files, so that a commit that does is not refused for that.
func policyOf(trustedRoot string, signers []string) (*verify.Policy, error) {
	root, err := os.ReadFile(trustedRoot) //nolint:gosec // the file that the user named
	if err != nil {
		return nil, fmt.Errorf("read trusted root: %w", err)
	}
	opts := verify.Options{TrustedRoot: root, Branch: "HEAD", Binding: verify.BindingNone, TrustOnFirstUse: true}
	for _, text := range signers {
		signer, err := parseSigner(text)
		if err != nil {
			return nil, err
		}
		opts.Signers = append(opts.Signers, signer)
	}
	return verify.NewPolicy(opts)
}

// parseSigner reads ISSUER=SUBJECT. Issuers are URLs and may hold an equals sign in a query; subjects are addresses and URIs that hold
// none in practice, so the last one separates.
func parseSigner(text string) (verify.Signer, error) {
	at := strings.LastIndex(text, "=")
	if at <= 0 || at == len(text)-1 {
		return verify.Signer{}, term.UsageErrorf("--signer %q: want ISSUER=SUBJECT", text)
	}
	return verify.Signer{Name: text[at+1:], Issuer: text[:at], Subject: text[at+1:], May: []verify.Role{verify.RoleChange}}, nil
}
