package evidence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

const (
	// lookupTime is how long the lookups of one poll may take together.
	lookupTime = 20 * time.Second
	// maxLookups is how many commits are looked up in one poll.
	maxLookups = 50
	// maxKnown is how many outcomes are remembered.
	maxKnown = 10_000
)

// lookup asks a log for an agent: at most for some seconds in each poll, once for each commit while it is known, and rarely while the log does not answer.
type lookup struct {
	repo   *gitsource.Repository
	client *Client

	mu       sync.Mutex // held during a request, so that requests come one after the other
	known    map[gitsource.ID]*outcome
	outage   retry // of the log
	deadline time.Time
	left     int // lookups in this poll
}

// outcome is what the log answered about a commit. After some time it is asked again: an entry that proves nothing may be wrong, and a missing one may come.
type outcome struct {
	bundle []byte // nil if the log had nothing
	again  retry
}

func newLookup(repo *gitsource.Repository, client *Client) *lookup {
	return &lookup{repo: repo, client: client, known: map[gitsource.ID]*outcome{}}
}

// begin begins a poll.
func (l *lookup) begin() *lookup {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deadline, l.left = time.Time{}, maxLookups
	return l
}

var (
	errNotLogged = errors.New("the log has no entry")
	errLater     = errors.New("the log is asked about the other commits at the next polls")
	errSilent    = errors.New("the log is not asked again yet after a failure")
)

// Bundles returns what the log has about a commit.
func (l *lookup) Bundles(ctx context.Context, id gitsource.ID) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.known[id]
	if o != nil && !o.again.due() {
		return o.answer(id)
	}
	certificate, err := verify.OnlineCertificate(ctx, l.repo, id)
	if err != nil || certificate == nil {
		return nil, err
	}
	if l.deadline.IsZero() {
		l.deadline = time.Now().Add(lookupTime)
	}
	switch {
	case !l.outage.due():
		return nil, errSilent
	case l.left == 0 || !time.Now().Before(l.deadline):
		return nil, errLater
	}
	l.left--
	ctx, cancel := context.WithDeadline(ctx, l.deadline)
	defer cancel()
	bundle, err := l.client.Find(ctx, id, certificate)
	if err != nil {
		l.outage.failed()
		return nil, err
	}
	l.outage = retry{}
	if o == nil {
		if len(l.known) >= maxKnown {
			clear(l.known)
		}
		o = &outcome{}
		l.known[id] = o
	}
	if o.bundle = bundle; bundle == nil {
		o.again.failed()
	} else {
		o.again.at = time.Now().Add(lastRetry)
	}
	return o.answer(id)
}

func (o *outcome) answer(id gitsource.ID) ([]byte, error) {
	if o.bundle == nil {
		return nil, fmt.Errorf("%w of %s", errNotLogged, id)
	}
	return o.bundle, nil
}
