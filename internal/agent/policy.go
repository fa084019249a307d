package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/hostfile"
	"gitops-agent/verify"
)

// maxTrustedRoot is the upper bound of the files that define trust, in bytes. The public trusted root has about 7,000.
const maxTrustedRoot = 4 << 20

// pinnedPolicy returns the policy of the config with the trusted root of trust.trusted_root_file.
func (c Config) pinnedPolicy() (*verify.Policy, error) {
	root, err := readTrustedRoot(c.Trust.TrustedRootFile)
	if err != nil {
		return nil, err
	}
	return verify.NewPolicy(c.policyOptions(root))
}

// target returns what the trailer Gitops-Target names: this cluster and branch.
func (c Config) target() string { return c.Cluster.Name + "/" + c.Source.Branch }

// TrailerTarget returns the value of the trailer Gitops-Target that commits need, "" if they need none.
func (c Config) TrailerTarget() string {
	if c.Trust.Binding != string(verify.BindingTrailer) {
		return ""
	}
	return c.target()
}

func (c Config) policyOptions(root []byte) verify.Options {
	t := c.Trust
	opts := verify.Options{
		TrustedRoot: root, Branch: c.Source.Branch, Target: c.target(), Paths: c.Source.Paths,
		Binding: verify.Binding(t.Binding), History: verify.History(cmp.Or(t.History, string(verify.HistoryFirstParent))),
		Timestamps: verify.TimestampRule(t.Timestamps), Anchor: gitsource.ID(t.Anchor), TrustOnFirstUse: t.TrustOnFirstUse,
		NotBefore: t.NotBefore, Deny: verify.Deny{Payloads: t.Deny.Payloads, Certificates: t.Deny.Certificates, LogIndexes: t.Deny.LogIndexes},
		Sandbox: c.sandbox,
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
		Paths: s.Paths, Guests: s.Guests, VMIDs: s.VMIDs, Sources: s.Sources, From: s.From, Until: s.Until,
	}
	for _, role := range s.May {
		signer.May = append(signer.May, verify.Role(role))
	}
	return signer
}

// readAgentRoot is readTrustedRoot for the running agent, which reads the file again whenever it has changed. It refuses a file that other users may change.
func readAgentRoot(path string) ([]byte, error) {
	var unsafe *hostfile.UnsafeError
	if err := hostfile.CheckTrusted(path); errors.As(err, &unsafe) {
		return nil, unsafeFile("trust.trusted_root_file", path, unsafe)
	}
	return readTrustedRoot(path)
}

func readTrustedRoot(path string) ([]byte, error) {
	data, err := ReadBounded(path)
	if err != nil {
		return nil, fmt.Errorf("read trusted root: trust.trusted_root_file: %w; %s", err, verify.MakeRoot)
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("read trusted root: trust.trusted_root_file: %s is empty; %s", path, verify.MakeRoot)
	}
	return data, nil
}

// ReadBounded reads a regular file of at most 4 MiB. It opens no other files, because opening a pipe can block forever.
func ReadBounded(path string) ([]byte, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path) //nolint:gosec // the operator chooses the path
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
