package gitsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// Options say what to fetch and where to keep it.
type Options struct {
	// Dir is where the bare repository is kept. Dir.new and Dir.old beside it belong to the Source as well.
	Dir string
	// Branch is the branch to fetch, such as main.
	Branch string
	// Remotes serve the branch; they are tried in order at each fetch.
	Remotes []Remote
	// Timeout bounds the whole of a fetch from one remote. Default 2 minutes.
	Timeout time.Duration
	// MaxFetchBytes bounds what one fetch reads from one remote. Default 512 MiB.
	MaxFetchBytes int64
	// Logger gets a warning when a remote was passed over or the store had to be cloned anew. Default none.
	Logger *slog.Logger
}

// A Head is the commit that a remote said the branch is at. It is in the repository, complete, and not trusted.
type Head struct {
	Commit ID
	Remote string // the URL of the remote that served it, without secrets
}

// A Source keeps one branch of some remotes on disk. Its methods may be called by several goroutines at once; one
// process may use a directory at a time, which is the caller's to see to.
type Source struct {
	opts    Options
	remotes []remote
	repo    *Repository

	fetching sync.Mutex // one fetch at a time
	placing  sync.Mutex // held while refs are written or the directory is replaced
}

// Open opens the store at opts.Dir, or makes an empty one. It contacts no remote and reads no secret. All problems of
// opts are reported at once. A store that cannot be opened at all is set aside, and the next fetch clones anew.
func Open(opts Options) (*Source, error) {
	opts.Timeout = cmp.Or(opts.Timeout, 2*time.Minute)
	opts.MaxFetchBytes = cmp.Or(opts.MaxFetchBytes, 512<<20)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Source{opts: opts}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("open source: %w", err)
	}
	if err := s.openDir(); err != nil {
		return nil, fmt.Errorf("open source %s: %w", opts.Dir, err)
	}
	return s, nil
}

// check validates the options.
func (s *Source) check() error {
	var problems []error
	if s.opts.Dir == "" {
		problems = append(problems, errors.New("no directory"))
	}
	if plumbing.NewBranchReferenceName(s.opts.Branch).Validate() != nil {
		problems = append(problems, fmt.Errorf("%q is no branch name", s.opts.Branch))
	}
	if s.opts.Timeout < 0 || s.opts.MaxFetchBytes < 0 {
		problems = append(problems, errors.New("timeout and fetch size must not be negative"))
	}
	if len(s.opts.Remotes) == 0 {
		problems = append(problems, errors.New("no remote"))
	}
	for i, conf := range s.opts.Remotes {
		r, err := parseRemote(conf)
		if err != nil {
			problems = append(problems, fmt.Errorf("remote %d: %w", i+1, err))
		}
		s.remotes = append(s.remotes, r)
	}
	return errors.Join(problems...)
}

// Repository returns the store for reading. It stays valid, and shows each fetch as it is done.
func (s *Source) Repository() *Repository { return s.repo }

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

// Keep protects the commit id, and all it leads to, from being dropped while the branch moves elsewhere: what was
// accepted last has to stay readable. It replaces the commit kept before, and fails with ErrNotFound if the store does
// not hold id.
func (s *Source) Keep(ctx context.Context, id ID) error {
	s.placing.Lock()
	defer s.placing.Unlock()
	if _, err := s.repo.Commit(ctx, id); err != nil {
		return fmt.Errorf("keep commit: %w", err)
	}
	if err := (&store{dir: s.opts.Dir}).setRef(acceptedRef, id.hash()); err != nil {
		return fmt.Errorf("keep commit %s: %w", id, err)
	}
	return nil
}

// openDir puts right what a crash left and opens the store.
func (s *Source) openDir() error {
	if err := s.recoverDirs(); err != nil {
		return err
	}
	repo, err := OpenRepository(s.opts.Dir)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		s.opts.Logger.Warn("store cannot be opened, starting anew", "dir", s.opts.Dir, "error", err)
		if err := s.setAside(); err != nil {
			return err
		}
		repo, err = OpenRepository(s.opts.Dir)
	}
	if err != nil {
		return err
	}
	s.repo = repo
	return s.useBranch()
}

// useBranch adapts a store that was made for another branch.
func (s *Source) useBranch() error {
	st := &store{dir: s.opts.Dir}
	head, err := readPointer(st.path("HEAD"), "ref: refs/heads/")
	if err == nil && head == s.opts.Branch {
		return nil
	}
	return st.setBranch(s.opts.Branch)
}
