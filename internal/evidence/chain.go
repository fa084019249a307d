package evidence

import (
	"context"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// Chain asks its sources one after the other. The first one that has a bundle about an object answers.
type Chain []verify.Evidence

var _ verify.Evidence = Chain{}

// Bundles returns the bundles of the first source that has any.
func (c Chain) Bundles(ctx context.Context, id gitsource.ID) ([]byte, error) {
	for _, source := range c {
		if text, err := source.Bundles(ctx, id); err != nil || len(text) > 0 {
			return text, err
		}
	}
	return nil, nil
}
