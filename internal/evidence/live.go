package evidence

import (
	"context"
	"sync"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// Live looks up an object in a log when it is verified, once. It implements verify.Evidence and is safe for concurrent use.
type Live struct {
	Client     *Client
	Repository *gitsource.Repository
	Asking     func(n int) // called before the nth lookup; nil is not

	mu    sync.Mutex
	known map[gitsource.ID][]byte
}

var _ verify.Evidence = (*Live)(nil)

// Bundles returns what the log has about an object.
func (l *Live) Bundles(ctx context.Context, id gitsource.ID) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bundle, asked := l.known[id]; asked {
		return bundle, nil
	}
	certificate, err := verify.OnlineCertificate(ctx, l.Repository, id)
	if err != nil || certificate == nil {
		return nil, err
	}
	if l.Asking != nil {
		l.Asking(len(l.known) + 1)
	}
	bundle, err := l.Client.Find(ctx, id, certificate)
	if err != nil {
		return nil, err
	}
	if l.known == nil {
		l.known = map[gitsource.ID][]byte{}
	}
	l.known[id] = bundle
	return bundle, nil
}
