package agent

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/sigstore/sigstore-go/pkg/tuf"
	"github.com/theupdateframework/go-tuf/v2/metadata/fetcher"
)

const (
	defaultRefresh = 24 * time.Hour
	refreshTimeout = 2 * time.Minute // of a whole refresh
	rootTarget     = "trusted_root.json"
)

// interval returns the time between refreshes.
func (c TUFConfig) interval() time.Duration {
	if c.Interval == 0 {
		return defaultRefresh
	}
	return time.Duration(c.Interval)
}

// fetch returns the newest trusted root of the repository. The cache directory keeps the metadata, so that an older state of the repository
// is also detected after a restart. The metadata comes from another host, so a panic of the parser is returned as an error.
func (c TUFConfig) fetch(ctx context.Context, cache string) ([]byte, error) {
	pin, err := ReadBounded(c.RootFile)
	if err != nil {
		return nil, fmt.Errorf("read trust.tuf.root_file: %w", err)
	}
	return FetchTrustedRoot(ctx, c.URL, pin, cache)
}

// PublicMirror is the TUF repository of the public Sigstore.
const PublicMirror = tuf.DefaultMirror

// PublicTUFRoot returns the root.json of PublicMirror that is built into the program. Newer versions are verified from it.
func PublicTUFRoot() []byte { return tuf.DefaultRoot() }

// FetchTrustedRoot returns the newest trusted_root.json of a TUF repository. Pin is a root.json of the repository; cache is a directory for the metadata.
func FetchTrustedRoot(ctx context.Context, url string, pin []byte, cache string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	files := fetcher.NewDefaultFetcher()
	files.SetHTTPClient(&http.Client{Transport: contextTransport{ctx}})
	return fetchTrustedRoot(url, pin, cache, files)
}

// fetchTrustedRoot is FetchTrustedRoot with a fetcher. The metadata comes from another host, so a panic of the parser is returned as an error.
func fetchTrustedRoot(url string, pin []byte, cache string, files fetcher.Fetcher) (root []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("read TUF metadata: %v", r)
		}
	}()
	client, err := tuf.New(&tuf.Options{Root: pin, RepositoryBaseURL: url, CachePath: cache, Fetcher: files})
	if err != nil {
		return nil, err
	}
	return client.GetTarget(rootTarget)
}

// contextTransport ends every request with a context, because the TUF client does not accept one.
type contextTransport struct{ ctx context.Context }

// RoundTrip sends each request over its own connection, because the next request is hours away.
func (t contextTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10}
	return transport.RoundTrip(request.WithContext(t.ctx))
}
