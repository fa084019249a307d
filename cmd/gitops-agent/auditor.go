package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// maxAudited bounds a range.
const maxAudited = 100_000 // commits

// auditor verifies commits and tags one by one, each on its own.
type auditor struct {
	repo   *gitsource.Repository
	policy *verify.Policy
	done   func(n, of int) // told after each commit, from several goroutines
}

// auditPolicy returns a policy that says who signed and nothing about what an agent would accept: with neither config nor host there is
// no branch, no target and no start of trust. Policy.Audit asks for none of them; the values below are there because every policy has
// them, and are the ones that promise nothing. The signers may change files, so that a commit that does is not refused for that.
func auditPolicy(trustedRoot string, signers []string) (*verify.Policy, error) {
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
		return verify.Signer{}, usageError("--signer %q: want ISSUER=SUBJECT", text)
	}
	return verify.Signer{Name: text[at+1:], Issuer: text[:at], Subject: text[at+1:], May: []verify.Role{verify.RoleChange}}, nil
}

// audited is a verdict and what it is about.
type audited struct {
	kind string // "commit" or "tag"
	verify.Verdict
}

// audit verifies what a revision names: a commit, an annotated tag with its commit, or the commits of a range A..B along first parents,
// oldest first.
func (a auditor) audit(ctx context.Context, revision string) ([]audited, error) {
	if from, to, isRange := strings.Cut(revision, ".."); isRange {
		return a.auditRange(ctx, from, to)
	}
	var verdicts []audited
	if tag, err := a.repo.Resolve(ctx, strings.TrimSuffix(revision, "^{tag}")+"^{tag}"); err == nil {
		verdicts = append(verdicts, audited{"tag", a.policy.AuditTag(ctx, a.repo, tag)})
	}
	if len(verdicts) > 0 && strings.HasSuffix(revision, "^{tag}") {
		return verdicts, nil
	}
	id, err := a.repo.Resolve(ctx, revision)
	if err != nil {
		return nil, err
	}
	return append(verdicts, audited{"commit", a.policy.Audit(ctx, a.repo, id)}), nil
}

// auditRange verifies the commits after from up to to. An empty from is the beginning, an empty to is HEAD.
func (a auditor) auditRange(ctx context.Context, from, to string) ([]audited, error) {
	if strings.HasPrefix(to, ".") {
		return nil, usageError("range: want A..B; A...B has no first-parent path")
	}
	var floor gitsource.ID
	if from != "" {
		id, err := a.repo.Resolve(ctx, from)
		if err != nil {
			return nil, err
		}
		floor = id
	}
	if to == "" {
		to = "HEAD"
	}
	tip, err := a.repo.Resolve(ctx, to)
	if err != nil {
		return nil, err
	}
	ids, err := verify.FirstParents(ctx, a.repo, floor, tip, maxAudited)
	if err != nil {
		return nil, err
	}
	return a.auditAll(ctx, ids)
}

// auditAll verifies commits on every processor, and returns the verdicts in their order.
func (a auditor) auditAll(ctx context.Context, ids []gitsource.ID) ([]audited, error) {
	verdicts := make([]audited, len(ids))
	var next, done atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(ids)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(ids)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				verdicts[i] = audited{"commit", a.policy.Audit(ctx, a.repo, ids[i])}
				a.done(int(done.Add(1)), len(ids))
			}
		})
	}
	workers.Wait()
	return verdicts, ctx.Err()
}
