package traces

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"gitops-agent/reconcile/event"
)

// exporter takes batches, and fails as a test wants.
type exporter struct {
	mu       sync.Mutex
	fail     error
	hang     bool
	attempts []int // spans of each
	results  map[Result]int
	log      bytes.Buffer
}

func (e *exporter) export(ctx context.Context, batch []*tracepb.Span) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.attempts = append(e.attempts, len(batch))
	if e.hang {
		e.mu.Unlock()
		<-ctx.Done()
		e.mu.Lock()
		return ctx.Err()
	}
	return e.fail
}

func (e *exporter) note(r Result, spans int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.results[r] += spans
}

func (e *exporter) set(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fail = err
}

func (e *exporter) want(t *testing.T, attempts []int, results map[Result]int) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if diff := cmp.Diff(attempts, e.attempts); diff != "" {
		t.Errorf("attempts differ (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(results, e.results); diff != "" {
		t.Errorf("results differ (-want +got)\n%s", diff)
	}
	e.attempts = nil
}

// runQueue runs a test of a queue in virtual time.
func runQueue(t *testing.T, test func(t *testing.T, q *queue, e *exporter, stop func())) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &exporter{results: map[Result]int{}}
		q := &queue{
			spans: make(chan *tracepb.Span, maxQueued), export: e.export, said: event.NewSink(slog.New(slog.NewTextHandler(&e.log, nil))).Subject(),
			onResult: e.note,
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); q.run(ctx) }()
		stop := func() { cancel(); <-ended }
		defer stop()
		test(t, q, e, stop)
	})
}

func (q *queue) addMany(spans int) {
	for range spans {
		q.add(&tracepb.Span{})
	}
}

func TestSpansAreSentInBatches(t *testing.T) {
	runQueue(t, func(t *testing.T, q *queue, e *exporter, stop func()) {
		q.addMany(3)
		synctest.Wait()
		e.want(t, nil, map[Result]int{})
		time.Sleep(batchWait + 1)
		e.want(t, []int{3}, map[Result]int{Exported: 3})
		q.addMany(maxBatch + 1)
		synctest.Wait()
		e.want(t, []int{maxBatch}, map[Result]int{Exported: 3 + maxBatch})
		stop() // sends the rest without waiting for a full batch
		e.want(t, []int{1}, map[Result]int{Exported: 4 + maxBatch})
	})
}

// The spans that do not fit into the queue while the collector is away are dropped, and each is counted once.
func TestUnreachableCollector(t *testing.T) {
	runQueue(t, func(t *testing.T, q *queue, e *exporter, _ func()) {
		e.set(errors.New("connection refused"))
		q.addMany(1)
		time.Sleep(batchWait + 1)
		q.addMany(maxQueued + 10)
		synctest.Wait()
		time.Sleep(maxAge)
		e.mu.Lock()
		dropped, failed := e.results[Dropped], e.results[Failed]
		e.mu.Unlock()
		if dropped != 10 || failed != 1 {
			t.Errorf("got %d dropped and %d failed, want the 10 that did not fit and the oldest", dropped, failed)
		}
		time.Sleep((maxQueued/maxBatch + 1) * maxAge)
		e.mu.Lock()
		e.attempts = nil
		e.mu.Unlock()
		e.set(nil)
		q.addMany(2)
		time.Sleep(batchWait + 1)
		e.want(t, []int{2}, map[Result]int{Dropped: 10, Failed: maxQueued + 1, Exported: 2})
		synctest.Wait()
		if log := e.log.String(); strings.Count(log, "traces not exported") != 1 || strings.Count(log, "traces exported again") != 1 {
			t.Errorf("got the log\n%s\nwant one line about the failure and one about its end", log)
		}
	})
}

func TestRefusedSpans(t *testing.T) {
	runQueue(t, func(t *testing.T, q *queue, e *exporter, _ func()) {
		e.set(&permanentError{errors.New("status 401")})
		q.addMany(3)
		time.Sleep(batchWait + 1)
		e.want(t, []int{3}, map[Result]int{Failed: 3})
		e.set(&partialError{2})
		q.addMany(3)
		time.Sleep(batchWait + 1)
		e.want(t, []int{3}, map[Result]int{Failed: 5, Exported: 1})
		e.set(&partialError{1000}) // more than it was given
		q.addMany(3)
		time.Sleep(batchWait + 1)
		e.want(t, []int{3}, map[Result]int{Failed: 8, Exported: 1})
	})
}

// The end of the agent waits at most three seconds, whatever the collector does.
func TestEndIsBounded(t *testing.T) {
	for name, fail := range map[string]func(e *exporter){
		"hangs":   func(e *exporter) { e.hang = true },
		"refuses": func(e *exporter) { e.fail = errors.New("connection refused") },
	} {
		t.Run(name, func(t *testing.T) {
			runQueue(t, func(t *testing.T, q *queue, e *exporter, stop func()) {
				fail(e)
				q.addMany(maxQueued)
				time.Sleep(batchWait + 1)
				began := time.Now()
				stop()
				if took := time.Since(began); took > endTimeout {
					t.Errorf("got an end after %s, want at most %s", took, endTimeout)
				}
				e.mu.Lock()
				defer e.mu.Unlock()
				if e.results[Failed] != maxQueued {
					t.Errorf("got %v, want every span counted", e.results)
				}
			})
		})
	}
}
