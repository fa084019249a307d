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

	"gitops-agent/gitsource/remote"
)

// Remote is one place that serves the branch.
type Remote = remote.Config

// ErrPassphrase means that the private key for ssh has a passphrase, which the agent cannot type.
var ErrPassphrase = remote.ErrPassphrase

// Options state what to fetch and where to store it.
type Options struct {
	// Dir is the directory of the bare repository. The Source also uses the directories Dir.new and Dir.old beside it.
	Dir string
	// Branch is the branch to fetch, such as main.
	Branch string
	// Remotes serve the branch; each fetch asks them in order, the next one after a failure or two seconds without a reply.
	Remotes []Remote
	// Notes is a ref with notes that Fetch looks for at the remotes, such as refs/notes/commits; it only reports where the ref points. Default none.
	Notes string
	// Timeout bounds the whole fetch from one remote. Default 2 minutes.
	Timeout time.Duration
	// MaxFetchBytes bounds how many bytes one fetch reads from one remote. Default 512 MiB.
	MaxFetchBytes int64
	// UploadPack serves the file remotes. Default the git program; tests serve in the process.
	UploadPack remote.UploadPack
	// Logger gets a warning when a remote was skipped or the store is cloned again. Default none.
	Logger *slog.Logger
}

// A Source keeps one branch of some remotes on disk. Its methods are safe for concurrent use. The caller must ensure that
// only one process uses a directory at a time.
type Source struct {
	opts    Options
	remotes []remote.Remote
	repo    *Repository

	fetchMu  sync.Mutex    // one fetch at a time; protects the next three fields
	head     plumbing.Hash // that the last successful fetch returned
	servedBy int           // the remote that served it; -1 before the first fetch
	refused  map[refOfRemote]refusedPack

	stateMu sync.Mutex
	health  []remoteHealth // of each remote
	began   time.Time      // of the fetch that is under way; zero without one
	storeMu sync.Mutex     // held while refs are written or the directory is replaced
}

// Open opens the store at opts.Dir, or makes an empty store. It contacts no remote and reads no secret. The error lists every
// problem of opts. A store that cannot be opened is moved to Dir.old, and the next fetch clones again.
func Open(opts Options) (*Source, error) {
	opts.Timeout = cmp.Or(opts.Timeout, 2*time.Minute)
	opts.MaxFetchBytes = cmp.Or(opts.MaxFetchBytes, 512<<20)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Source{opts: opts, servedBy: -1, refused: map[refOfRemote]refusedPack{}}
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("open source: %w", err)
	}
	if err := s.openDir(); err != nil {
		return nil, fmt.Errorf("open source %s: %w", opts.Dir, err)
	}
	return s, nil
}

// validate checks the options and parses the remotes.
func (s *Source) validate() error {
	var problems []error
	if s.opts.Dir == "" {
		problems = append(problems, errors.New("directory is required"))
	}
	if plumbing.NewBranchReferenceName(s.opts.Branch).Validate() != nil {
		problems = append(problems, fmt.Errorf("branch: %q is not a valid branch name", s.opts.Branch))
	}
	if s.opts.Timeout < 0 || s.opts.MaxFetchBytes < 0 {
		problems = append(problems, errors.New("timeout and fetch size must not be negative"))
	}
	if len(s.opts.Remotes) == 0 {
		problems = append(problems, errors.New("at least one remote is required"))
	}
	for i, conf := range s.opts.Remotes {
		r, err := remote.Parse(conf)
		if err != nil {
			problems = append(problems, fmt.Errorf("remote %d: %w", i+1, err))
		}
		r.UploadPack = s.opts.UploadPack
		s.remotes = append(s.remotes, r)
		s.health = append(s.health, remoteHealth{status: RemoteStatus{URL: r.Name, State: RemoteUnknown}})
	}
	return errors.Join(problems...)
}

// Repository returns the store for reading. It stays valid, and contains the objects of each fetch when the fetch ends.
func (s *Source) Repository() *Repository { return s.repo }

// Keep protects the commit id, and every object that it leads to, when the branch moves to another history. The last
// accepted commit must stay readable. Keep replaces the commit that was kept before. It returns ErrNotFound if the store
// does not contain id.
func (s *Source) Keep(ctx context.Context, id ID) error {
	s.storeMu.Lock()
	defer s.storeMu.Unlock()
	if _, err := s.repo.Commit(ctx, id); err != nil {
		return fmt.Errorf("keep commit: %w", err)
	}
	if err := (&store{dir: s.opts.Dir}).setRef(acceptedRef, id.hash()); err != nil {
		return fmt.Errorf("keep commit %s: %w", id, err)
	}
	return nil
}

// openDir recovers from a crash and opens the store.
func (s *Source) openDir() error {
	if err := s.recoverDirs(); err != nil {
		return err
	}
	repo, err := OpenRepository(s.opts.Dir)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		s.opts.Logger.Warn("store cannot be opened, starting with an empty store", "dir", s.opts.Dir, "error", err)
		if err := s.replaceWithEmpty(); err != nil {
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

// useBranch sets the branch of a store that was made for another branch.
func (s *Source) useBranch() error {
	st := &store{dir: s.opts.Dir}
	head, err := readPointer(st.path("HEAD"), "ref: refs/heads/")
	if err == nil && head == s.opts.Branch {
		return nil
	}
	return st.setBranch(s.opts.Branch)
}
