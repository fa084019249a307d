package gitsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"gitops-agent/gitsource/packs"
	"gitops-agent/gitsource/remote"
)

// A Head is the commit of the branch at a remote. The repository contains it with its full history. It is not trusted.
type Head struct {
	Commit ID
	Remote string // the URL of the remote that served it, without secrets
	Notes  ID     // where Options.Notes points at that remote; "" if there is no such ref. The repository need not contain it
}

// Fetch asks the remotes for the branch, in order, until one serves the branch with its full history. If a remote does not reply within two
// seconds, Fetch also asks the next one, and uses the first good reply. The branch may have moved in any way, also backwards, but only the
// remote that served the last head moves it back to a commit that the store has (ErrBehind). If no remote serves the branch, the error matches ErrUnreachable and contains a
// RemoteError for each remote. Other errors concern this machine. After an error, the store is unchanged.
func (s *Source) Fetch(ctx context.Context) (Head, error) {
	s.fetchMu.Lock()
	defer s.fetchMu.Unlock()
	s.setBegan(time.Now())
	defer s.setBegan(time.Time{})
	return s.fetchAny(ctx)
}

// FetchTag fetches one tag and every object that it leads to. It returns the tag object, or the commit of a lightweight tag.
// It does not move the branch. If no remote has the tag, each RemoteError matches ErrNotFound.
func (s *Source) FetchTag(ctx context.Context, name string) (ID, error) {
	if plumbing.NewTagReferenceName(name).Validate() != nil {
		return "", fmt.Errorf("fetch tag %q: not a valid tag name", name)
	}
	head, err := s.fetch(ctx, wantedRef{ref: "refs/tags/" + name, find: func(a remote.Advertisement) (plumbing.Hash, error) { return a.Tag(name) }})
	if err != nil {
		return "", err
	}
	if _, err := s.repo.Tag(ctx, head.Commit); err == nil {
		return head.Commit, nil
	}
	if _, err := s.repo.Commit(ctx, head.Commit); err != nil {
		return "", fmt.Errorf("fetch tag %s: it does not point at a commit: %w", name, err)
	}
	return head.Commit, nil
}

// A wantedRef is the ref that a fetch updates in the store, and the function that finds its object in a remote's advertisement.
type wantedRef struct {
	ref    string
	find   func(remote.Advertisement) (plumbing.Hash, error)
	limit  int64        // of the bytes to read from a remote; 0 is Options.MaxFetchBytes
	limits packs.Limits // of the pack; zero is packLimits
}

// packLimits are the limits of a pack with commits of the branch.
var packLimits = packs.Limits{Objects: maxObjects, Work: maxWork, WorkPerObject: workPerObject}

func (s *Source) fetch(ctx context.Context, want wantedRef) (Head, error) {
	s.fetchMu.Lock()
	defer s.fetchMu.Unlock()
	var failures []error
	for _, r := range s.remotes {
		tip, err := s.fetchFrom(ctx, r, want)
		if err == nil {
			s.warn(ctx, failures)
			return Head{Commit: ID(tip.String()), Remote: r.Name}, nil
		}
		if ctx.Err() != nil {
			return Head{}, fmt.Errorf("fetch: %w", context.Cause(ctx))
		}
		var local storeError
		if errors.As(err, &local) {
			return Head{}, fmt.Errorf("fetch %s: %w", r.Name, err)
		}
		failures = append(failures, &RemoteError{r.Name, err})
	}
	return Head{}, errors.Join(failures...)
}

// warn logs the failures of the remotes that were tried before the one that served the branch.
func (s *Source) warn(ctx context.Context, failures []error) {
	for _, err := range failures {
		s.opts.Logger.WarnContext(ctx, "remote skipped", "error", err)
	}
}

// fetchFrom fetches from one remote within the timeout.
func (s *Source) fetchFrom(ctx context.Context, r remote.Remote, want wantedRef) (tip plumbing.Hash, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	defer func() {
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("timeout of %s exceeded: %w", s.opts.Timeout, err)
		}
	}()
	defer recoverTo(&err)
	remaining := s.opts.MaxFetchBytes
	if want.limit > 0 {
		remaining = min(remaining, want.limit)
	}
	session, err := r.Dial(ctx, &remaining)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer func() {
		if message := session.End(); err != nil && message != "" {
			err = fmt.Errorf("%w (message of the remote: %q)", err, message)
		}
	}()
	advertisement, err := remote.ReadRefs(ctx, session, want.ref)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if tip, err = want.find(advertisement); err != nil {
		return plumbing.ZeroHash, err
	}
	return tip, s.update(ctx, transfer{r.Name, session, advertisement, tip, want.ref, cmp.Or(want.limits, packLimits)})
}

// A transfer is a session after its refs were read. A pack may be requested next.
type transfer struct {
	remote        string // its name
	session       remote.Session
	advertisement remote.Advertisement
	tip           plumbing.Hash
	ref           string // the ref in the store that will point at tip
	limits        packs.Limits
}

// update fetches the tip into the store, unless the store has it, and moves the ref. It clones again if the store is damaged.
func (s *Source) update(ctx context.Context, t transfer) error {
	if damage := s.repo.damageFound(); damage != nil {
		if t.ref != s.tracking() {
			return storeError{damage} // only a fetch of the branch clones again
		}
		s.opts.Logger.WarnContext(ctx, "store is damaged, cloning again", "dir", s.opts.Dir, "error", damage)
		return s.reclone(ctx, t)
	}
	st, err := openStore(s.opts.Dir)
	if err != nil {
		return s.markDamaged(err)
	}
	defer st.close()
	current, err := st.ref(t.ref)
	if err != nil {
		return s.markDamaged(err)
	}
	if current == t.tip && s.repo.has(t.tip) {
		return nil
	}
	known := current // notes have a history of their own
	if !t.isNotes() {
		if known, err = st.ref(s.tracking()); err != nil {
			return s.markDamaged(err)
		}
	}
	if err := s.refusedBefore(t, known); err != nil {
		return err
	}
	if err := st.removeTemporary(); err != nil {
		return storeError{err}
	}
	if !st.has(t.tip) {
		haves, err := st.haves(ctx, known)
		if err != nil {
			return s.markDamaged(err)
		}
		err = t.receive(ctx, st, haves)
		if errors.Is(err, errIncomplete) && len(haves) > 0 && !t.isNotes() { // the remote may have omitted objects that the store has lost
			return s.markDamaged(err)
		}
		s.noteReceived(t, known, err)
		if err != nil {
			return err
		}
	}
	if t.isNotes() && st.isNoCommit(ctx, t.tip) {
		return fmt.Errorf("%s points at %s, which is no commit", t.ref, t.tip)
	}
	s.storeMu.Lock()
	defer s.storeMu.Unlock()
	if err := st.setRef(t.ref, t.tip); err != nil {
		return storeError{err}
	}
	s.collect(ctx, st)
	return s.repo.reopen()
}

// collect packs loose objects if there are many. An error is only logged: the fetch is complete, and the next one tries again.
func (s *Source) collect(ctx context.Context, st *store) {
	switch packed, err := st.collect(ctx); {
	case err != nil:
		s.opts.Logger.WarnContext(ctx, "loose objects not collected", "dir", s.opts.Dir, "error", err)
	case packed != 0:
		s.opts.Logger.InfoContext(ctx, "loose objects collected", "dir", s.opts.Dir, "objects", packed)
	}
}

// tracking returns the ref of the branch as fetched last. It has the same name as at the remote, so that git shows it as usual.
func (s *Source) tracking() string { return "refs/heads/" + s.opts.Branch }

// markDamaged records that the store cannot be read, so that the next fetch clones again. It returns err as a storeError.
func (s *Source) markDamaged(err error) error {
	s.repo.markDamaged(err)
	return storeError{err}
}

// isNotes reports whether the ref has notes, which nothing depends on: what is wrong with them is no reason to clone again.
func (t transfer) isNotes() bool { return strings.HasPrefix(t.ref, notesPrefix) }

// acceptsType reports whether the ref may point at an object of the type kind.
func (t transfer) acceptsType(kind plumbing.ObjectType) bool {
	return kind == plumbing.CommitObject || kind == plumbing.TagObject && strings.HasPrefix(t.ref, "refs/tags/")
}

// receive requests the pack, checks it and adds it to st.
func (t transfer) receive(ctx context.Context, st *store, haves []plumbing.Hash) error {
	stream, err := remote.RequestPack(ctx, t.session, t.advertisement, t.tip, haves)
	if err != nil {
		return err
	}
	limits := t.limits
	if len(haves) > 0 || t.isNotes() {
		limits.WorkPerObject, limits.Objects = 0, min(limits.Objects, maxNewObjects)
	}
	p, err := receivePack(ctx, st.packDir(), stream, limits, st.has)
	if err != nil {
		return err
	}
	defer p.discard()
	if !t.acceptsType(p.Type(t.tip)) {
		return fmt.Errorf("%w: %s points at %s, and the remote sent no such commit", errIncomplete, t.ref, t.tip)
	}
	if err := st.install(p); err != nil {
		return storeError{err}
	}
	return nil
}
