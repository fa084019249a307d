package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"gitops-agent/verify"

	"github.com/sigstore/sigstore-go/pkg/tuf"
	"github.com/theupdateframework/go-tuf/v2/metadata/fetcher"
)

const (
	defaultRefresh = 24 * time.Hour
	retryRefresh   = time.Hour       // after a failure, if the interval is longer
	refreshTimeout = 2 * time.Minute // of one refresh as a whole
	rootTarget     = "trusted_root.json"
)

// TUFConfig says where newer trusted roots come from. A refresh can only bring what the repository's keys sign: one that fails,
// is expired or rolled back changes nothing, and never keeps the root in force from verifying.
type TUFConfig struct {
	// URL is a TUF repository whose target trusted_root.json replaces the trusted root file, until somebody changes the file.
	// Default: none, the file alone.
	URL string `yaml:"url"`
	// RootFile is a root.json of that repository that you obtained yourself; newer ones follow from it. Required with url.
	RootFile string `yaml:"root_file"`
	// Interval is the time between refreshes. Default 24h.
	Interval Duration `yaml:"interval"`
}

// problem says what is wrong with c, everything at once.
func (c TUFConfig) problem() error {
	if c.URL == "" && c.RootFile == "" {
		return nil
	}
	var problems []error
	if (c.URL == "") != (c.RootFile == "") {
		problems = append(problems, errors.New("trust.tuf: url and root_file go together: where to ask, and the root.json to know the answer by"))
	}
	if u, err := url.Parse(c.URL); c.URL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		problems = append(problems, errors.New("trust.tuf.url: want https://host/path or http://host/path"))
	} else if c.URL != "" && u.User != nil {
		problems = append(problems, errors.New("trust.tuf.url must not contain credentials"))
	}
	return errors.Join(problems...)
}

// interval returns the time between refreshes.
func (c TUFConfig) interval() time.Duration {
	if c.Interval == 0 {
		return defaultRefresh
	}
	return time.Duration(c.Interval)
}

// keepFresh refreshes the trusted root until ctx ends. It returns at once where no TUF repository is configured.
func (t *trust) keepFresh(ctx context.Context) {
	if t.tuf.URL == "" {
		return
	}
	for ctx.Err() == nil {
		wait := t.tuf.interval()
		if err := t.refresh(ctx); err != nil {
			wait = min(wait, retryRefresh)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// refresh asks the TUF repository once, and takes the root that it brings if it is new and fit. Whatever goes wrong is reported,
// and the root in force stays.
func (t *trust) refresh(ctx context.Context) error {
	err := t.bring(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err() // the agent stops; the mirror is not to blame
	}
	if err != nil {
		t.log.WarnContext(ctx, "trusted root not refreshed, the last good one stays in force", "url", t.tuf.URL, "error", err)
	}
	if t.onRefresh != nil {
		t.onRefresh(err)
	}
	return err
}

func (t *trust) bring(ctx context.Context) error {
	offered, err := t.tuf.fetch(ctx, filepath.Join(t.storeDir(), "tuf"))
	if err != nil {
		return fmt.Errorf("refresh trusted root: %w", err)
	}
	if err := t.fit(offered); err != nil {
		return fmt.Errorf("take refreshed trusted root: %w", err)
	}
	err = t.take(offered)
	_, policyErr := t.Policy()
	return errors.Join(err, policyErr)
}

// fit says why a root would leave the agent without a policy, or with one that no new commit can satisfy.
func (t *trust) fit(root []byte) error {
	policy, err := verify.NewPolicy(t.config.policyOptions(root))
	if err != nil {
		return err
	}
	if end := policy.Root().Expiry; !end.IsZero() && end.Before(time.Now()) {
		return fmt.Errorf("trusted root %x is of no use since %s", policy.Root().SHA256, end.Format(time.RFC3339))
	}
	return nil
}

// take notes a root that TUF brought. The same root as last time is no news, so it does not displace a file that was changed since.
func (t *trust) take(offered []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refreshed != nil && sha256.Sum256(t.refreshed.Root) == sha256.Sum256(offered) {
		return nil
	}
	pinned, err := readTrustedRoot(t.config.Trust.TrustedRootFile)
	if err != nil {
		return err
	}
	t.refreshed = &refreshedRoot{URL: t.tuf.URL, Pinned: sha256.Sum256(pinned), Root: offered}
	return t.save(t.refreshed)
}

// fetch returns the newest trusted root of the repository. Its metadata is kept in cache, so that an older state of the repository
// is known as such in the next life too. Metadata from elsewhere is parsed here, so a panic is an error like any other.
func (c TUFConfig) fetch(ctx context.Context, cache string) (root []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read TUF metadata: %v", r)
		}
	}()
	pin, err := readBounded(c.RootFile)
	if err != nil {
		return nil, fmt.Errorf("read trust.tuf.root_file: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	files := fetcher.NewDefaultFetcher()
	files.SetHTTPClient(&http.Client{Transport: bounded{ctx}})
	client, err := tuf.New(&tuf.Options{Root: pin, RepositoryBaseURL: c.URL, CachePath: cache, Fetcher: files})
	if err != nil {
		return nil, err
	}
	return client.GetTarget(rootTarget)
}

// bounded ends every request with a context, which the TUF client knows nothing of.
type bounded struct{ ctx context.Context }

// RoundTrip sends a request over a connection of its own: the next one is hours away.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	return transport.RoundTrip(request.WithContext(b.ctx))
}
