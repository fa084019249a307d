package audit

import (
	"bytes"
	"context"
	"errors"

	"gitops-agent/gitsource"
)

// Objects returns what a revision names and an audit of it verifies: a commit, an annotated tag with the tags that it names and its commit, or the commits
// of a range A..B along first parents. With sides a range also has the commits that its merges bring in. Progress is called while the history is read.
func Objects(ctx context.Context, repo *gitsource.Repository, revision string, sides bool, progress func(format string, args ...any)) (tags, commits []gitsource.ID, err error) {
	a := auditor{repo: repo, note: progress}
	chosen, err := a.choose(ctx, revision)
	if err != nil {
		return nil, nil, err
	}
	if tags, err = innerTags(ctx, repo, chosen.tag); err != nil {
		return nil, nil, err
	}
	commits = chosen.commits
	if chosen.tip == "" || !sides {
		return tags, commits, nil
	}
	var merges []merge
	for _, id := range commits {
		links, err := repo.Links(ctx, id)
		if err != nil && !errors.Is(err, gitsource.ErrNotFound) && !errors.Is(err, gitsource.ErrTooLarge) {
			return nil, nil, err
		}
		if len(links.Parents) > 1 {
			merges = append(merges, merge{id, links.Parents[1:]})
		}
	}
	side, _, err := a.sideBranches(ctx, chosen.floor, commits, merges)
	for _, s := range side {
		commits = append(commits, s.id)
	}
	return tags, commits, err
}

// innerTags returns a tag and the tags that it names in turn. "" is no tag.
func innerTags(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) ([]gitsource.ID, error) {
	var tags []gitsource.ID
	for id != "" && len(tags) < maxTags {
		tag, err := repo.Tag(ctx, id)
		if err != nil {
			return nil, err
		}
		tags = append(tags, id)
		object, rest, _ := bytes.Cut(tag.Raw, []byte("\n"))
		kind, _, _ := bytes.Cut(rest, []byte("\n"))
		if id = ""; string(kind) == "type "+kindTag {
			id = gitsource.ID(bytes.TrimPrefix(object, []byte("object ")))
		}
	}
	return tags, nil
}
