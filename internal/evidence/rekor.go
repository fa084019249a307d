package evidence

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/bounds"
	"gitops-agent/internal/outbound"
)

const (
	// interval is the least time between two requests to a log, which many people share.
	interval = 100 * time.Millisecond
	// timeout bounds one request.
	timeout = 20 * time.Second
	// maxReply is how much of a reply is read, in bytes.
	maxReply = 256 << 10
	// maxCandidates is how many entries of a search are read.
	maxCandidates = 32
	// attempts is how often a request is sent while the log is overloaded or does not answer.
	attempts = 3
	// pause is the time before the second attempt. That before the third is twice as long.
	pause = 500 * time.Millisecond
)

// Client looks up entries in a Rekor v1 log that has a search index. Each lookup tells the log the id of a commit. It is safe for concurrent use, and
// sends one request at a time.
type Client struct {
	URL    string // https://rekor.sigstore.dev
	CAFile string // certificates that are trusted in addition to those of the system, "" is none

	mu   sync.Mutex
	next time.Time // when the next request may be sent
}

// Check returns an error if the address cannot be used. It sends nothing.
func (c *Client) Check() error {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("address of the log: want https://host without credentials")
	}
	_, err = outbound.TLS(c.CAFile)
	return err
}

// Find returns the bundle about an object that was signed with the certificate: the earliest entry with the signature of the object's id by the key of
// the certificate. It returns nil if the log has none. The log's own proofs are not verified.
func (c *Client) Find(ctx context.Context, id gitsource.ID, certificate []byte) ([]byte, error) {
	digest := sha256.Sum256([]byte(id))
	found, err := c.search(ctx, id, certificate, map[string]any{"hash": "sha256:" + hex.EncodeToString(digest[:])})
	if err != nil || found != nil {
		return found, err
	}
	// The index is best effort, and gitsign itself asks it for the key.
	return c.search(ctx, id, certificate, map[string]any{"publicKey": map[string]string{"format": "x509", "content": pemOf(certificate)}})
}

// uuid is the form of an entry's name, with or without the number of its tree.
var uuid = regexp.MustCompile(`^(?:[0-9a-f]{16})?[0-9a-f]{64}$`)

// search returns the earliest bundle about an object among the entries that the index finds.
func (c *Client) search(ctx context.Context, id gitsource.ID, certificate []byte, query map[string]any) ([]byte, error) {
	var names []string
	if err := c.request(ctx, http.MethodPost, "/api/v1/index/retrieve", query, &names); err != nil {
		return nil, fmt.Errorf("search the log for %s: %w", id, err)
	}
	if len(names) > maxCandidates {
		names = names[:maxCandidates]
	}
	var earliest []byte
	var at int64
	for _, name := range names {
		if !uuid.MatchString(name) {
			continue
		}
		var entries map[string]entry
		if err := c.request(ctx, http.MethodGet, "/api/v1/log/entries/"+name, nil, &entries); err != nil {
			return nil, fmt.Errorf("read entry %s of the log: %w", name, err)
		}
		for _, e := range entries {
			signature, err := e.signatureOf(id, certificate)
			if err != nil || earliest != nil && e.IntegratedTime >= at {
				continue
			}
			if earliest, err = e.bundle(id, certificate, signature); err != nil {
				return nil, fmt.Errorf("entry %s of the log: %w", name, err)
			}
			at = e.IntegratedTime
		}
	}
	return earliest, nil
}

// request sends a request and decodes the reply. It repeats requests that the log could not answer at the moment.
func (c *Client) request(ctx context.Context, method, path string, body, reply any) (err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	for attempt := 1; ; attempt++ {
		again, err := c.once(ctx, method, path, text, reply)
		if err == nil || !again || attempt == attempts || ctx.Err() != nil {
			return err
		}
		if err := wait(ctx, pause*time.Duration(attempt)); err != nil {
			return err
		}
	}
}

// replyLimits are those of a reply of the log.
var replyLimits = bounds.JSON{Bytes: maxReply, Values: 100_000, Elements: 20_000, Depth: 32}

// once sends a request. It reports whether another attempt can help.
func (c *Client) once(ctx context.Context, method, path string, body []byte, reply any) (again bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := wait(ctx, time.Until(c.next)); err != nil {
		return false, err
	}
	defer func() { c.next = time.Now().Add(interval) }()
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(limited, method, strings.TrimSuffix(c.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	got, err := outbound.Exchange(r, c.CAFile, maxReply)
	switch {
	case err != nil:
		return !errors.Is(err, outbound.ErrTooLong), err
	case !outbound.Succeeded(got.Status):
		return outbound.IsTemporary(got.Status), fmt.Errorf("the log answered with status %d", got.Status)
	}
	if err := replyLimits.Unmarshal(got.Body, reply); err != nil {
		return false, fmt.Errorf("read the reply of the log: %w", err)
	}
	return false, nil
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
