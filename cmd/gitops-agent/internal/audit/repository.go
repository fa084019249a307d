package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/gitsource/fault"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/attest"
	"gitops-agent/internal/evidence"
)

// A Repository names the repository to verify.
type Repository struct {
	Where  string           // a directory or URL; "" is the repository that the agent fetched, or the working directory if there is no config
	Branch string           // of a URL
	Remote gitsource.Remote // credentials for a URL
}

// openRepository is a repository to read. Its close function removes what was fetched for it.
type openRepository struct {
	*gitsource.Repository
	source *gitsource.Source // of a remote; nil for a directory
	close  func() error
}

// fetchTag fetches the tag that a revision names from the remote. It reports whether that succeeded, so that the revision can be resolved
// again.
func (r openRepository) fetchTag(ctx context.Context, revision string) bool {
	if r.source == nil {
		return false
	}
	name := strings.TrimSuffix(revision, "^{tag}")
	_, err := r.source.FetchTag(ctx, strings.TrimPrefix(name, "refs/tags/"))
	return err == nil
}

// Open opens the repository, with the notes that have evidence, and those with the statements that the config asks for. A remote one is fetched into a temporary directory, which the function in the result removes.
func (r Repository) Open(ctx context.Context, config agent.Config, shown *term.Progress) (*gitsource.Repository, func() error, error) {
	opened, err := r.open(ctx, config, shown)
	if err != nil {
		return nil, nil, err
	}
	err = opened.fetchNotes(ctx, evidence.NotesRef)
	if err == nil && config.Trust.Promotion.Cluster != "" {
		err = opened.fetchNotes(ctx, attest.NotesRef)
	}
	if err != nil {
		return nil, nil, errors.Join(err, opened.close())
	}
	return opened.Repository, opened.close, nil
}

// open opens the repository; a remote one is fetched first. The config may be the zero value.
func (r Repository) open(ctx context.Context, config agent.Config, shown *term.Progress) (openRepository, error) {
	if isRemote(r.Where) {
		f, err := fetch(ctx, r.credentials(config), cmp.Or(r.Branch, config.Source.Branch, "main"), shown)
		if err != nil {
			return openRepository{}, err
		}
		return openRepository{f.source.Repository(), f.source, f.close}, nil
	}
	if r.Branch != "" || r.Remote != (gitsource.Remote{}) {
		return openRepository{}, term.UsageErrorf("--branch and credentials need a URL for --repo")
	}
	dir := gitsource.FindRepository(cmp.Or(r.Where, "."))
	if r.Where == "" && config.StateDir != "" {
		dir = config.RepositoryDir()
	}
	repo, err := OpenLocal(dir)
	if hint, _ := term.Hint(err); hint == otherRepository {
		switch {
		case r.Where != "":
			err = term.WithHint(err, "name the directory of a clone, or of a folder within it, or the URL of a remote")
		case config.StateDir != "":
			err = term.WithHint(err, "the agent makes it at its first fetch; until then: "+otherRepository)
		}
	}
	return openRepository{repo, nil, func() error { return nil }}, err
}

const otherRepository = "name a repository with --repo DIR"

// OpenLocal opens the repository in a directory. Its errors have a hint.
func OpenLocal(dir string) (*gitsource.Repository, error) {
	repo, err := gitsource.OpenRepository(dir)
	hint := otherRepository
	var format *gitsource.FormatError
	if errors.As(err, &format) {
		hint = format.Remedy
	}
	return repo, term.WithHint(err, hint)
}

// credentials returns the remote with the credentials of the flags. If there are none, it uses those of the remote in the config with exactly
// this URL.
func (r Repository) credentials(config agent.Config) gitsource.Remote {
	if r.Remote == (gitsource.Remote{}) {
		for _, known := range config.Source.Remotes {
			if known.URL == r.Where {
				return known.Remote()
			}
		}
	}
	remote := r.Remote
	remote.URL = r.Where
	return remote
}

// fetchTimeout bounds the fetch of a remote. The user can interrupt it earlier.
const fetchTimeout = 30 * time.Minute

// remoteLike matches the name of a remote: a URL, or the short form of ssh.
var remoteLike = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*://|[A-Za-z0-9._-]+@[^/]+:)`)
})

// IsRemote reports whether the repository is a remote.
func (r Repository) IsRemote() bool { return isRemote(r.Where) }

// isRemote reports whether --repo names a remote. An existing directory of that name takes precedence.
func isRemote(repo string) bool {
	if _, err := os.Stat(repo); err == nil {
		return false
	}
	return remoteLike().MatchString(repo)
}

// fetched is a branch of a remote in a temporary directory, which close removes.
type fetched struct {
	dir    string
	source *gitsource.Source
}

// fetch fetches a branch with its whole history, and shows the progress.
func fetch(ctx context.Context, remote gitsource.Remote, branch string, shown *term.Progress) (fetched, error) {
	dir, err := os.MkdirTemp("", "gitops-agent-verify-")
	if err != nil {
		return fetched{}, fmt.Errorf("create a directory for the remote: %w", err)
	}
	f := fetched{dir: dir}
	f.source, err = gitsource.Open(gitsource.Options{
		Dir: filepath.Join(dir, "repository"), Branch: branch, Remotes: []gitsource.Remote{remote}, Timeout: fetchTimeout,
	})
	if err == nil {
		stop := f.watch(shown)
		_, err = f.source.Fetch(ctx)
		stop()
	}
	var format *gitsource.FormatError
	switch {
	case errors.As(err, &format):
		err = term.WithHint(err, format.Remedy)
	case gitsource.FaultOf(err) == fault.Incomplete:
		err = term.WithHint(err, gitsource.CompleteRemote)
	case errors.Is(err, gitsource.ErrUnreachable):
		err = term.WithHint(err, "check --repo, --branch and the credentials: --username, --token-file, --ssh-key-file, --known-hosts-file, --ca-file")
	}
	if err != nil {
		return fetched{}, errors.Join(err, f.close())
	}
	return f, nil
}

// watch shows how much was fetched until stop is called.
func (f fetched) watch(shown *term.Progress) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				shown.Show("fetching: %.1f MiB", float64(size(f.dir))/(1<<20))
			}
		}
	}()
	return func() { close(end); <-ended }
}

func (f fetched) close() error {
	if err := os.RemoveAll(f.dir); err != nil {
		return fmt.Errorf("remove the fetched repository: %w", err)
	}
	return nil
}

// size returns the total size of the files below a directory, in bytes. Files that disappear during the walk are skipped.
func size(dir string) int64 {
	var total int64
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // the file was removed during the walk
		}
		if info, err := entry.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}
