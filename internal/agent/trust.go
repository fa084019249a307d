package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// maxTrustedRoot bounds the trusted root file.
const maxTrustedRoot = 4 << 20

// Policy returns the policy that the config stands for, with the trusted root file as it is now.
func (c Config) Policy() (*verify.Policy, error) {
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
		Paths: s.Paths, From: s.From, Until: s.Until,
	}
	for _, role := range s.May {
		signer.May = append(signer.May, verify.Role(role))
	}
	return signer
}

func readTrustedRoot(path string) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // the path is the operator's own
	if err != nil {
		return nil, fmt.Errorf("open trusted root: %w", err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxTrustedRoot+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read trusted root %s: %w", path, err)
	case len(data) > maxTrustedRoot:
		return nil, fmt.Errorf("trusted root %s is larger than 4 MiB", path)
	}
	return data, nil
}

// trust keeps the policy in force. The trusted root file is read again when it changes; one that does not parse changes nothing.
type trust struct {
	config Config
	log    *slog.Logger
	onRoot func(verify.RootInfo)

	mu     sync.Mutex
	policy *verify.Policy
	read   stamp
}

// stamp tells one state of a file from another.
type stamp struct {
	size    int64
	changed time.Time
}

// Policy returns the policy in force.
func (t *trust) Policy() (*verify.Policy, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	info, err := os.Stat(t.config.Trust.TrustedRootFile)
	now := stamp{}
	if err == nil {
		now = stamp{info.Size(), info.ModTime()}
	}
	if t.policy != nil && now == t.read {
		return t.policy, nil
	}
	policy, perr := t.config.Policy()
	if err := errors.Join(err, perr); err != nil {
		if t.policy == nil {
			return nil, err
		}
		if now != t.read {
			t.log.Warn("trusted root not taken, the last good one stays in force", "error", err)
		}
		t.read = now
		return t.policy, nil
	}
	if t.policy != nil {
		t.log.Info("trusted root taken", "sha256", fmt.Sprintf("%x", policy.Root().SHA256))
	}
	t.policy, t.read = policy, now
	t.onRoot(policy.Root())
	return policy, nil
}
