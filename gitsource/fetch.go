package gitsource

import (
	"context"
	"errors"
	"fmt"

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
	s.fetching.Lock()
	defer s.fetching.Unlock()
	var failures []error
	for _, r := range s.remotes {
		tip, err := s.fetchFrom(ctx, r)
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
func (s *Source) fetchFrom(ctx context.Context, r remote) (tip plumbing.Hash, err error) {
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
	if tip, err = advert.branch(s.opts.Branch); err != nil {
		return plumbing.ZeroHash, err
	}
	return tip, s.bring(ctx, transfer{session, advert, tip})
}

// A transfer is a conversation in which the refs were read and a pack may be asked for.
type transfer struct {
	session session
	advert  advert
	tip     plumbing.Hash
}

// bring makes the store hold the tip.
func (s *Source) bring(ctx context.Context, t transfer) error {
	if damage := s.repo.damaged(); damage != nil {
		s.opts.Logger.WarnContext(ctx, "store is damaged, cloning anew", "dir", s.opts.Dir, "error", damage)
		return s.renew(ctx, t)
	}
	st, err := openStore(s.opts.Dir)
	if err != nil {
		return s.broken(err)
	}
	defer st.close()
	current, err := st.ref(s.tracking())
	if err != nil {
		return s.broken(err)
	}
	if current == t.tip && s.repo.has(t.tip) {
		return nil
	}
	if err := st.sweep(); err != nil {
		return storeError{err}
	}
	if !st.has(t.tip) {
		haves, err := st.haves(current)
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
	if err := st.setRef(s.tracking(), t.tip); err != nil {
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
	if obj, err := p.read.Get(t.tip); err != nil || obj.Type() != plumbing.CommitObject {
		return fmt.Errorf("%w: the branch is at %s, and no such commit was sent", errIncomplete, t.tip)
	}
	if err := checkClosed(ctx, p, st); err != nil {
		return err
	}
	if err := st.install(p); err != nil {
		return storeError{err}
	}
	return nil
}
