package agent

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// maxTrustedRoot bounds the files of trust, in bytes; the public trusted root has about 7,000.
const maxTrustedRoot = 4 << 20

// Policy returns the policy that the config stands for, with the trusted root that an agent would start with: that of the file as
// it is now, or what TUF brought an agent before.
func (c Config) Policy() (*verify.Policy, error) {
	if c.Trust.TUF.URL == "" {
		return c.pinnedPolicy()
	}
	t := &trust{config: c, tuf: c.Trust.TUF, log: slog.New(slog.DiscardHandler), onRoot: func(verify.RootInfo) {}}
	if err := t.restore(); err != nil {
		return nil, err
	}
	return t.Policy()
}

// pinnedPolicy returns the policy with the trusted root of the file.
func (c Config) pinnedPolicy() (*verify.Policy, error) {
	root, err := readTrustedRoot(c.Trust.TrustedRootFile)
	if err != nil {
		return nil, err
	}
	return verify.NewPolicy(c.policyOptions(root))
}

func (c Config) policyOptions(root []byte) verify.Options {
	t := c.Trust
	opts := verify.Options{
		TrustedRoot: root, Branch: c.Source.Branch, Target: c.Cluster.Name + "/" + c.Source.Branch,
		Binding: verify.Binding(t.Binding), History: verify.History(cmp.Or(t.History, string(verify.HistoryFirstParent))),
		Timestamps: verify.TimestampRule(t.Timestamps), Anchor: gitsource.ID(t.Anchor), TrustOnFirstUse: t.TrustOnFirstUse,
		NotBefore: t.NotBefore, Deny: verify.Deny{Certificates: t.Deny.Certificates, LogIndexes: t.Deny.LogIndexes},
	}
	for _, id := range t.Deny.Commits {
		opts.Deny.Commits = append(opts.Deny.Commits, gitsource.ID(id))
	}
	for _, s := range t.Signers {
		opts.Signers = append(opts.Signers, s.signer())
	}
	return opts
}

func (s SignerConfig) signer() verify.Signer {
	signer := verify.Signer{
		Name: s.Name, Issuer: s.Issuer, Subject: s.Subject, SubjectRegexp: s.SubjectRegexp, Extensions: verify.Extensions(s.Extensions),
		Paths: s.Paths, Guests: s.Guests, From: s.From, Until: s.Until,
	}
	for _, role := range s.May {
		signer.May = append(signer.May, verify.Role(role))
	}
	return signer
}

func readTrustedRoot(path string) ([]byte, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("read trusted root: %w", err)
	}
	return data, nil
}

// readBounded reads a regular file of at most maxTrustedRoot bytes. Opening anything else might wait for somebody for ever.
func readBounded(path string) ([]byte, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path) //nolint:gosec // the path is the operator's own
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxTrustedRoot+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxTrustedRoot:
		return nil, fmt.Errorf("%s is larger than 4 MiB", path)
	}
	return data, nil
}

// trust keeps the policy in force. The trusted root file is read again whenever the policy is asked for, and compared by its
// content: files are replaced by renaming, by turning a symbolic link, and within one tick of the clock. A file that does not make
// a policy changes nothing. Where a TUF repository is configured, the root that it brought replaces that of the file, until
// somebody changes the file.
type trust struct {
	config    Config
	tuf       TUFConfig // zero: the file alone
	log       *slog.Logger
	onRoot    func(verify.RootInfo) // told of each root that is taken
	onRefresh func(error)           // told of each refresh by TUF, nil when it succeeded; may be nil itself

	mu        sync.Mutex // never held while the network is waited for
	policy    *verify.Policy
	refreshed *refreshedRoot // what TUF brought last; nil before the first time
	complaint string         // what was complained about last, so that it is said once
}

// Policy returns the policy in force. It is the same one until another trusted root is taken.
func (t *trust) Policy() (*verify.Policy, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.policy == nil && t.tuf.URL != "" {
		if err := t.restore(); err != nil {
			t.log.Warn("refreshed trusted root not read, the file is in force until the next refresh", "error", err)
		}
	}
	root, err := t.choose()
	if err == nil && t.policy != nil && sha256.Sum256(root) == t.policy.Root().SHA256 {
		t.complaint = ""
		return t.policy, nil
	}
	var policy *verify.Policy
	if err == nil {
		policy, err = verify.NewPolicy(t.config.policyOptions(root))
	}
	switch {
	case err != nil && t.policy == nil:
		return nil, err
	case err != nil:
		t.complain(root, err)
		return t.policy, nil
	}
	t.install(policy)
	return policy, nil
}

// choose returns the content of the trusted root that ought to be in force.
func (t *trust) choose() ([]byte, error) {
	pinned, err := readTrustedRoot(t.config.Trust.TrustedRootFile)
	if err != nil {
		return nil, err
	}
	if t.refreshed != nil && t.refreshed.Pinned == sha256.Sum256(pinned) {
		return t.refreshed.Root, nil
	}
	return pinned, nil
}

// complain says, once for each content and each error of reading, that a root was not taken.
func (t *trust) complain(root []byte, err error) {
	about := fmt.Sprintf("%x", sha256.Sum256(root))
	if root == nil {
		about = err.Error()
	}
	if about != t.complaint {
		t.log.Warn("trusted root not taken, the last good one stays in force", "error", err)
	}
	t.complaint = about
}

func (t *trust) install(policy *verify.Policy) {
	if t.policy != nil {
		t.log.Info("trusted root taken", "sha256", fmt.Sprintf("%x", policy.Root().SHA256))
	}
	t.policy, t.complaint = policy, ""
	t.onRoot(policy.Root())
}
