package audit

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/clone"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/verify"
)

// policyOf returns a policy that identifies signers. It does not state what an agent would accept: without a config there is no branch, no
// target and no trust anchor. Policy.Audit uses none of these; the values below are present because every policy needs them. The signers have
// the role change, so that a commit is not refused because it changes files. A clone knows the branch and the target of its commits.
func policyOf(trustedRoot string, signers []string, own clone.Trust) (*verify.Policy, error) {
	root, err := readTrustedRoot(trustedRoot)
	if err != nil {
		return nil, err
	}
	opts := verify.Options{TrustedRoot: root, Branch: "HEAD", Binding: verify.BindingNone, TrustOnFirstUse: true}
	if own.Cluster != "" {
		opts.Branch, opts.Target, opts.Binding = own.Branch, own.Cluster+"/"+own.Branch, verify.BindingTrailer
	}
	for _, text := range signers {
		signer, err := parseSigner(text)
		if err != nil {
			return nil, err
		}
		opts.Signers = append(opts.Signers, signer)
	}
	return verify.NewPolicy(opts)
}

// readTrustedRoot reads the file that the user named.
func readTrustedRoot(path string) ([]byte, error) {
	root, err := os.ReadFile(path) //nolint:gosec // see above
	if err != nil {
		return nil, fmt.Errorf("read trusted root: %w", err)
	}
	return root, nil
}

// wildcard stands for any text in the subject of --signer.
const wildcard = "*"

// parseSigner reads ISSUER=SUBJECT. An issuer is a URL and may contain an equals sign in its query; a subject is an address or a URI and
// contains none in practice. So the last equals sign separates the two. A subject with a wildcard is a pattern; every other one, and the issuer, is
// compared exactly. The trust policy of a host has no wildcards: there a pattern is a subject_regexp, and is called so.
func parseSigner(text string) (verify.Signer, error) {
	at := strings.LastIndex(text, "=")
	if at <= 0 || at == len(text)-1 {
		return verify.Signer{}, term.UsageErrorf("--signer %q: want ISSUER=SUBJECT", text)
	}
	issuer, subject := text[:at], text[at+1:]
	s := verify.Signer{Name: subject, Issuer: issuer, May: []verify.Role{verify.RoleChange}}
	switch {
	case strings.Contains(issuer, wildcard):
		return verify.Signer{}, term.UsageErrorf("--signer %q: the issuer is compared exactly, only the subject may contain %s", text, wildcard)
	case strings.Trim(subject, wildcard) == "":
		return verify.Signer{}, term.UsageErrorf("--signer %q: every subject would match; --who lists all signers", text)
	case strings.Contains(subject, wildcard):
		parts := strings.Split(subject, wildcard)
		for i, p := range parts {
			parts[i] = regexp.QuoteMeta(p)
		}
		s.SubjectRegexp = strings.Join(parts, ".*")
	default:
		s.Subject = subject
	}
	return s, nil
}
