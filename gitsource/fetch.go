package gitsource

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// A Head is the commit that a remote said the branch is at. It is in the repository, complete, and not trusted.
type Head struct {
	Commit ID
	Remote string // the URL of the remote that served it, without secrets
}

// Fetch asks the remotes for the branch, in order, until one serves it with its full history. The branch may have moved
// in any way, also backwards. If no remote serves it, the error matches ErrUnreachable and holds a RemoteError for
// each; other errors are this machine's. Either way what was fetched before is there as it was.
func (s *Source) Fetch(ctx context.Context) (Head, error) {
	return s.fetch(ctx, wanted{ref: s.tracking(), in: func(a advert) (plumbing.Hash, error) { return a.branch(s.opts.Branch) }})
}

// FetchTag asks the remotes for one tag and all it leads to, and returns the tag object, or the commit of a lightweight tag. It
// does not move the branch. A tag that no remote has is ErrNotFound within each RemoteError.
func (s *Source) FetchTag(ctx context.Context, name string) (ID, error) {
	if plumbing.NewTagReferenceName(name).Validate() != nil {
		return "", fmt.Errorf("fetch tag %q: no tag name", name)
	}
	head, err := s.fetch(ctx, wanted{ref: "refs/tags/" + name, in: func(a advert) (plumbing.Hash, error) { return a.tag(name) }})
	if err != nil {
		return "", err
	}
	if _, err := s.repo.Tag(ctx, head.Commit); err == nil {
		return head.Commit, nil
	}
	if _, err := s.repo.Commit(ctx, head.Commit); err != nil {
		return "", fmt.Errorf("fetch tag %s: it leads to no commit: %w", name, err)
	}
	return head.Commit, nil
}

// wanted is what a fetch is for: the ref that will hold it here, and how to find it among a remote's refs.
type wanted struct {
	ref string
	in  func(advert) (plumbing.Hash, error)
}

func (s *Source) fetch(ctx context.Context, want wanted) (Head, error) {
	s.fetching.Lock()
	defer s.fetching.Unlock()
	var failures []error
	for _, r := range s.remotes {
		tip, err := s.fetchFrom(ctx, r, want)
		if err == nil {
			s.warn(ctx, failures)
			return Head{ID(tip.String()), r.name}, nil
		}
		if ctx.Err() != nil {
			return Head{}, fmt.Errorf("fetch: %w", context.Cause(ctx))
		}
		var local storeError
		if errors.As(err, &local) {
			return Head{}, fmt.Errorf("fetch %s: %w", r.name, err)
		}
		failures = append(failures, &RemoteError{r.name, err})
	}
	return Head{}, errors.Join(failures...)
}

func (s *Source) warn(ctx context.Context, failures []error) {
	for _, err := range failures {
		s.opts.Logger.WarnContext(ctx, "remote passed over", "error", err)
	}
}

// fetchFrom fetches from one remote within the timeout.
func (s *Source) fetchFrom(ctx context.Context, r remote, want wanted) (tip plumbing.Hash, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	defer func() {
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("not done within %s: %w", s.opts.Timeout, err)
		}
	}()
	defer recoverTo(&err)
	left := s.opts.MaxFetchBytes
	session, err := r.dial(ctx, &left)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer func() {
		if said := session.end(); err != nil && said != "" {
			err = fmt.Errorf("%w (the remote says: %q)", err, said)
		}
	}()
	advert, err := readAdvert(ctx, session)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if tip, err = want.in(advert); err != nil {
		return plumbing.ZeroHash, err
	}
	return tip, s.bring(ctx, transfer{session, advert, tip, want.ref})
}

// A transfer is a conversation in which the refs were read and a pack may be asked for.
type transfer struct {
	session session
	advert  advert
	tip     plumbing.Hash
	ref     string // that will hold tip
}

// bring makes the store hold the tip.
func (s *Source) bring(ctx context.Context, t transfer) error {
	if damage := s.repo.damaged(); damage != nil {
		if t.ref != s.tracking() {
			return storeError{damage} // the next fetch of the branch clones anew
		}
		s.opts.Logger.WarnContext(ctx, "store is damaged, cloning anew", "dir", s.opts.Dir, "error", damage)
		return s.renew(ctx, t)
	}
	st, err := openStore(s.opts.Dir)
	if err != nil {
		return s.broken(err)
	}
	defer st.close()
	current, err := st.ref(t.ref)
	if err != nil {
		return s.broken(err)
	}
	if current == t.tip && s.repo.has(t.tip) {
		return nil
	}
	branch, err := st.ref(s.tracking())
	if err != nil {
		return s.broken(err)
	}
	if err := st.sweep(); err != nil {
		return storeError{err}
	}
	if !st.has(t.tip) {
		haves, err := st.haves(branch)
		if err != nil {
			return s.broken(err)
		}
		err = t.into(ctx, st, haves)
		if errors.Is(err, errIncomplete) && len(haves) > 0 { // what the remote left out may be what the store lost
			return s.broken(err)
		}
		if err != nil {
			return err
		}
	}
	s.placing.Lock()
	defer s.placing.Unlock()
	if err := st.setRef(t.ref, t.tip); err != nil {
		return storeError{err}
	}
	return s.repo.reopen()
}

// tracking is the ref of the branch as fetched last. The store mirrors the remote's name, so that git shows it as usual.
func (s *Source) tracking() string { return "refs/heads/" + s.opts.Branch }

// broken notes that the store cannot be read, so that the next fetch clones anew.
func (s *Source) broken(err error) error {
	s.repo.suspect(err)
	return storeError{err}
}

// mayBe reports whether the ref may point at an object of this type.
func (t transfer) mayBe(kind plumbing.ObjectType) bool {
	return kind == plumbing.CommitObject || kind == plumbing.TagObject && strings.HasPrefix(t.ref, "refs/tags/")
}

// into asks for the pack and takes it into st.
func (t transfer) into(ctx context.Context, st *store, haves []plumbing.Hash) error {
	stream, err := requestPack(ctx, t.session, t.advert, t.tip, haves)
	if err != nil {
		return err
	}
	p, err := receivePack(ctx, st.packDir(), stream)
	if err != nil {
		return err
	}
	defer p.discard()
	if obj, err := p.read.Get(t.tip); err != nil || !t.mayBe(obj.Type()) {
		return fmt.Errorf("%w: %s is at %s, and no such commit was sent", errIncomplete, t.ref, t.tip)
	}
	if err := checkClosed(ctx, p, st); err != nil {
		return err
	}
	if err := st.install(p); err != nil {
		return storeError{err}
	}
	return nil
}
