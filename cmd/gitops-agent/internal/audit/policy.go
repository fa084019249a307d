package audit

import (
	"fmt"
	"os"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/verify"
)

// policyOf returns a policy that identifies signers. It does not state what an agent would accept: without a config there is no branch, no
// target and no trust anchor. Policy.Audit uses none of these; the values below are present because every policy needs them. The signers have
// the role change, so that a commit is not refused because it changes files.
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

// parseSigner reads ISSUER=SUBJECT. An issuer is a URL and may contain an equals sign in its query; a subject is an address or a URI and
// contains none in practice. So the last equals sign separates the two.
func parseSigner(text string) (verify.Signer, error) {
	at := strings.LastIndex(text, "=")
	if at <= 0 || at == len(text)-1 {
		return verify.Signer{}, term.UsageErrorf("--signer %q: want ISSUER=SUBJECT", text)
	}
	return verify.Signer{Name: text[at+1:], Issuer: text[:at], Subject: text[at+1:], May: []verify.Role{verify.RoleChange}}, nil
}
