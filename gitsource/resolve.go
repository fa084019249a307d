package gitsource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

const minShortID = 4 // digits

// revStep matches one step after a name in a revision: ~N, ^N, ^{commit}, ^{tag}, ^{} or ^.
var revStep = regexp.MustCompile(`^(?:~([0-9]*)|\^([0-9]+)|\^\{(commit|tag|)\}|(\^))`)

// Resolve returns the commit that a person names by rev: a full or abbreviated id (four digits or more), a branch, a remote
// branch, a tag, HEAD or @, each optionally followed by ~N, ^N, ^{commit} or ^{}. Resolve follows an annotated tag to its
// commit, but returns the tag object itself for ^{tag}. It returns ErrNotFound if rev names nothing. The repository decides
// what a name stands for, so a commit must not be trusted because of its name.
func (r *Repository) Resolve(ctx context.Context, rev string) (ID, error) {
	id, err := r.resolve(ctx, rev)
	if err != nil {
		return "", fmt.Errorf("resolve %q: %w", rev, err)
	}
	return id, nil
}

func (r *Repository) resolve(ctx context.Context, rev string) (ID, error) {
	base, steps := rev, ""
	if i := strings.IndexAny(rev, "~^"); i >= 0 {
		base, steps = rev[:i], rev[i:]
	}
	id, err := r.resolveBase(ctx, base)
	if err != nil {
		return "", err
	}
	if steps == "^{tag}" {
		_, err := r.Tag(ctx, id)
		return id, err
	}
	if id, err = r.peel(ctx, id); err != nil {
		return "", err
	}
	for steps != "" {
		m := revStep.FindStringSubmatch(steps)
		if m == nil || m[3] == "tag" {
			return "", fmt.Errorf("%q: want ~N, ^N, ^{commit}, ^{} or ^{tag}", steps)
		}
		steps = steps[len(m[0]):]
		if id, err = r.step(ctx, id, m); err != nil {
			return "", err
		}
	}
	return id, nil
}

// step follows one match of revStep.
func (r *Repository) step(ctx context.Context, id ID, m []string) (ID, error) {
	switch {
	case m[0][0] == '~':
		return r.ancestor(ctx, id, m[1])
	case m[4] == "^":
		return r.parent(ctx, id, 1)
	case m[2] != "":
		n, err := strconv.Atoi(m[2])
		if err != nil || n == 0 {
			return id, err
		}
		return r.parent(ctx, id, n)
	default:
		return id, nil
	}
}

func (r *Repository) ancestor(ctx context.Context, id ID, count string) (ID, error) {
	n := 1
	if count != "" {
		var err error
		if n, err = strconv.Atoi(count); err != nil {
			return "", err
		}
	}
	for range n {
		var err error
		if id, err = r.parent(ctx, id, 1); err != nil {
			return "", err
		}
	}
	return id, nil
}

// parent returns the nth parent of a commit, counting from 1.
func (r *Repository) parent(ctx context.Context, id ID, n int) (ID, error) {
	c, err := r.Commit(ctx, id)
	if err != nil {
		return "", err
	}
	if parents := headerIDs(c.Raw, "parent"); n <= len(parents) {
		return parents[n-1], nil
	}
	return "", fmt.Errorf("%s has no parent %d: %w", id, n, ErrNotFound)
}

// peel follows annotated tags to the commit they name.
func (r *Repository) peel(ctx context.Context, id ID) (ID, error) {
	for range 10 {
		_, err := r.Commit(ctx, id)
		if err == nil || errors.Is(err, ErrTooLarge) { // who reads the commit finds that it is too large
			return id, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return "", err
		}
		tag, tagErr := r.Tag(ctx, id)
		if tagErr != nil {
			return "", err
		}
		targets := headerIDs(tag.Raw, "object")
		if len(targets) == 0 {
			return "", fmt.Errorf("tag %s names no object", id)
		}
		id = targets[0]
	}
	return "", fmt.Errorf("%s: too many tags of tags", id)
}

func (r *Repository) resolveBase(ctx context.Context, base string) (ID, error) {
	if base == "@" {
		base = "HEAD"
	}
	if id, err := ParseID(base); err == nil {
		return id, nil
	}
	id, err := r.resolveRef(base)
	if err == nil || !errors.Is(err, ErrNotFound) {
		return id, err
	}
	if lower := strings.ToLower(base); len(base) >= minShortID && len(base) <= 40 && isLowerHex(lower) {
		return r.resolveShort(ctx, lower)
	}
	return "", err
}

// resolveRef looks up a ref in the same places and order as git, and follows symbolic refs.
func (r *Repository) resolveRef(name string) (ID, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, full := range candidates(name) {
		for range 5 {
			ref, err := r.storage.Reference(full)
			if errors.Is(err, plumbing.ErrReferenceNotFound) {
				break
			}
			if err != nil {
				return "", fmt.Errorf("read ref %s: %w", full, err)
			}
			if ref.Type() == plumbing.HashReference {
				return ID(ref.Hash().String()), nil
			}
			full = ref.Target()
		}
	}
	return "", fmt.Errorf("ref: %w", ErrNotFound)
}

// Refs returns the full names of the refs that the name in rev can stand for, in the order in which Resolve and git prefer them. It returns none for an id,
// and more than one for an ambiguous name.
func (r *Repository) Refs(rev string) ([]string, error) {
	name := rev
	if i := strings.IndexAny(rev, "~^"); i >= 0 {
		name = rev[:i]
	}
	if name == "@" {
		name = "HEAD"
	}
	if _, err := ParseID(name); err == nil {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []string
	for _, full := range candidates(name) {
		_, err := r.storage.Reference(full)
		switch {
		case err == nil:
			found = append(found, string(full))
		case !errors.Is(err, plumbing.ErrReferenceNotFound):
			return nil, fmt.Errorf("read ref %s: %w", full, err)
		}
	}
	return found, nil
}

// candidates returns the full names that a name can stand for, in the order of git. Other names at the top level are files of git, such as config.
func candidates(name string) []plumbing.ReferenceName {
	var full []plumbing.ReferenceName
	for _, rule := range plumbing.RefRevParseRules {
		candidate := plumbing.ReferenceName(fmt.Sprintf(rule, name))
		if candidate == plumbing.HEAD || strings.HasPrefix(string(candidate), "refs/") && candidate.Validate() == nil {
			full = append(full, candidate)
		}
	}
	return full
}

// resolveShort returns the one commit or annotated tag whose id begins with prefix.
func (r *Repository) resolveShort(ctx context.Context, prefix string) (ID, error) {
	ids, err := r.withPrefix(prefix)
	if err != nil {
		return "", err
	}
	var found []ID
	for _, id := range ids {
		_, err := r.Commit(ctx, id)
		if err != nil {
			_, err = r.Tag(ctx, id)
		}
		if err == nil {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("abbreviated id: %w", ErrNotFound)
	case 1:
		return found[0], nil
	}
	slices.Sort(found)
	return "", fmt.Errorf("abbreviated id is ambiguous: %s, %s", found[0], found[1])
}

// maxShort bounds how many objects of one pack an abbreviated id may stand for.
const maxShort = 1000

// withPrefix returns the ids of all objects, of any type, that begin with prefix.
func (r *Repository) withPrefix(prefix string) ([]ID, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	hashes, err := r.objects.withPrefix(prefix)
	if err != nil {
		return nil, fmt.Errorf("search objects: %w", err)
	}
	var ids []ID
	for _, h := range hashes {
		if id := ID(h.String()); !slices.Contains(ids, id) { // an object may be in several places
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// headerIDs returns the ids in the header lines with the given key, in order. It is used only for navigation. Only package
// verify reads tree and parents from the signed bytes for a decision.
func headerIDs(raw []byte, key string) []ID {
	header, _, _ := bytes.Cut(raw, []byte("\n\n"))
	var ids []ID
	for line := range bytes.Lines(header) {
		value, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("\n")), []byte(key+" "))
		if !ok {
			continue
		}
		if id, err := ParseID(string(value)); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
