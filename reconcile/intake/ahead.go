package intake

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/encrypted"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// aheadOf describes the commits between a candidate and the head above it, which name only other targets than a target. They are not verified, and nothing is
// made from what they contain.
func aheadOf(ctx context.Context, repo *gitsource.Repository, target string, head, candidate gitsource.ID) (*report.Ahead, error) {
	passed, err := verify.PassedBetween(ctx, repo, head, candidate)
	if err != nil {
		return nil, err
	}
	ahead := &report.Ahead{Commit: string(head), Commits: passed.Commits, Targets: passed.Targets}
	for _, c := range passed.Newest {
		ahead.IDs = append(ahead.IDs, string(c.ID))
	}
	known, err := clusterNames(ctx, repo, passed.Tree)
	if gitsource.IsUnfit(err) {
		return ahead, nil // it is unknown which clusters the repository has
	}
	if err != nil {
		return nil, err
	}
	isUnknown := func(other string) bool {
		cluster, _, _ := strings.Cut(other, "/")
		return !known[cluster]
	}
	for _, other := range passed.Targets {
		if isUnknown(other) {
			ahead.Unknown = append(ahead.Unknown, other)
		}
	}
	for _, c := range passed.Newest {
		if len(c.Targets) > 0 && !slices.ContainsFunc(c.Targets, func(other string) bool { return !isUnknown(other) }) {
			ahead.Misaddressed++
		}
	}
	if len(ahead.Unknown) > 0 {
		ahead.Hint = fmt.Sprintf("if they are meant for this cluster, push one more signed commit, which brings them into force with it: git commit --allow-empty -S -m 'for %s' --trailer 'Gitops-Target: %s'", target, target)
	}
	return ahead, nil
}

// clusterNames returns the names of the manifests of the kind Cluster in a tree.
func clusterNames(ctx context.Context, repo *gitsource.Repository, tree gitsource.ID) (map[string]bool, error) {
	names := make(map[string]bool)
	_, err := repo.Files(ctx, tree, gitsource.TreeOptions{
		Suffixes: manifest.Suffixes(), Skipped: []string{encrypted.SOPS.Suffix()},
		Visit: func(f gitsource.File) {
			for _, name := range manifest.ClusterNames(manifest.File{Path: f.Path, Data: f.Data}) {
				names[name] = true
			}
		},
	})
	return names, err
}
