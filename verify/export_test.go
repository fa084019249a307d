package verify

import (
	"context"

	"gitops-agent/gitsource"
)

// ReadAncestors exports markAncestors: it reads at most limit commits.
func ReadAncestors(ctx context.Context, repo *gitsource.Repository, id gitsource.ID, limit int) error {
	return markAncestors(ctx, repo, id, map[gitsource.ID]bool{}, limit)
}

// SealedCommits returns the commits that a seal of the range from..to covers. It refuses to read more than limit commits.
func SealedCommits(ctx context.Context, repo *gitsource.Repository, from, to gitsource.ID, limit int) (map[gitsource.ID]bool, error) {
	return seals{spans: []span{{from, to}}}.sealedCommits(ctx, repo, limit)
}
