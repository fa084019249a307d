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
