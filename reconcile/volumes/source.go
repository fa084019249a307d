package volumes

import (
	"context"
	"errors"
	"sync"
	"time"

	"gitops-agent/reconcile/cluster"
)

// Window is how long after the beginning of a reading the reading may serve further calls.
const Window = 5 * time.Second

// Reader is what a Source reads from.
type Reader interface {
	cluster.Reader
	cluster.VolumeReader
}

// Source knows who uses the volumes of a cluster. It reads nothing before the first check. It is safe for concurrent use.
type Source struct {
	reader   Reader
	versions func() (map[int]uint64, error)

	mu       sync.Mutex
	frame    *flight[*frame]
	known    map[int]knownReferences // by vmid
	written  map[int]time.Time       // when a call of this agent last changed the guest, by vmid
	reserved map[string]int          // vmid of the guest for which a call acts on the volume, by key of the layout
}

// New returns a source. Versions returns the version of every guest's configuration, by vmid, from the vmlist file; nil without such a file.
func New(reader Reader, versions func() (map[int]uint64, error)) *Source {
	return &Source{
		reader: reader, versions: versions, known: make(map[int]knownReferences), written: make(map[int]time.Time), reserved: make(map[string]int),
	}
}

// readVersions returns the versions in the vmlist file, nil if it cannot be used.
func (s *Source) readVersions() map[int]uint64 {
	if s.versions == nil {
		return nil
	}
	versions, err := s.versions()
	if err != nil {
		return nil
	}
	return versions
}

// flight is a reading that several checks share.
type flight[T any] struct {
	started time.Time
	done    chan struct{} // closed at the end of the reading
	value   T
	err     error
}

// errNotRead is the error of a reading that panicked.
var errNotRead = errors.New("the reading did not end")

// ended reports whether the reading has ended.
func (f *flight[T]) ended() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// share returns the reading in a slot if it may be used, and otherwise reads. A reading that failed is not used again.
func share[T any](ctx context.Context, s *Source, slot **flight[T], usable func(*flight[T]) bool, read func(context.Context) (T, error)) (T, error) {
	s.mu.Lock()
	f := *slot
	if f == nil || !usable(f) || f.ended() && f.err != nil {
		f = &flight[T]{started: time.Now(), done: make(chan struct{}), err: errNotRead}
		*slot = f
		s.mu.Unlock()
		defer close(f.done)
		f.value, f.err = read(context.WithoutCancel(ctx)) // other checks wait for it too
		return f.value, f.err
	}
	s.mu.Unlock()
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// sharedFrame returns a frame whose reading began at most Window ago, and not before since.
func (s *Source) sharedFrame(ctx context.Context, since time.Time) (*frame, error) {
	return share(ctx, s, &s.frame, func(f *flight[*frame]) bool { return time.Since(f.started) <= Window && !f.started.Before(since) }, s.readFrame)
}

// sharedPart returns the uses by the guests of a node, read after the frame. It serves as long as the frame does.
func (s *Source) sharedPart(ctx context.Context, f *frame, node string) (*part, error) {
	s.mu.Lock()
	slot := f.parts[node]
	if slot == nil {
		slot = new(*flight[*part])
		f.parts[node] = slot
	}
	s.mu.Unlock()
	return share(ctx, s, slot, func(*flight[*part]) bool { return true }, func(ctx context.Context) (*part, error) { return s.readPart(ctx, f, node) })
}
