package verify

import (
	"context"

	"gitops-agent/gitsource"
)

// ReadAncestors reads the ancestors of id, limit of them at most.
func ReadAncestors(ctx context.Context, repo *gitsource.Repository, id gitsource.ID, limit int) error {
	return markAncestors(ctx, repo, id, map[gitsource.ID]bool{}, limit)
}

// Vouched returns what a seal on the commits after from, up to and with to, vouches for, limit of them at most.
func Vouched(ctx context.Context, repo *gitsource.Repository, from, to gitsource.ID, limit int) (map[gitsource.ID]bool, error) {
	return seals{spans: []span{{from, to}}}.vouched(ctx, repo, limit)
}
