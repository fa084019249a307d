package traces

import (
	"context"
	"errors"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"gitops-agent/reconcile/event"
)

// Result is what became of a span. It is a label of metrics.
type Result string

// Results of spans.
const (
	Exported Result = "exported"
	Failed   Result = "failed"  // the collector refused it, or did not take it in time
	Dropped  Result = "dropped" // the queue was full
)

// Results lists every result, for metrics that start at zero.
func Results() []Result { return []Result{Exported, Failed, Dropped} }

// Bounds of the queue, and of the time that the end of the agent takes.
const (
	maxQueued  = 2048
	maxBatch   = 512
	batchWait  = time.Second // from the first span of a batch
	maxAge     = time.Minute // of a batch that the collector does not take
	firstRetry = time.Second
	lastRetry  = 15 * time.Second
	endTimeout = 3 * time.Second
)

// queue takes spans that have ended, and sends them in batches.
type queue struct {
	spans    chan *tracepb.Span
	export   func(ctx context.Context, batch []*tracepb.Span) error // sends one request
	onResult func(r Result, spans int)
	said     *event.Subject // only run uses it
}

// add does not wait.
func (q *queue) add(s *tracepb.Span) {
	select {
	case q.spans <- s:
	default:
		q.onResult(Dropped, 1)
	}
}

// run sends spans until ctx ends. It then tries for three seconds to send what waits, each batch once.
func (q *queue) run(ctx context.Context) {
	last, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(endTimeout, end) })()
	for {
		batch := q.collect(ctx)
		if len(batch) == 0 {
			return
		}
		q.send(ctx, last, batch)
	}
}

// collect waits for spans and returns a batch of them, an empty one if ctx has ended and no span waits.
func (q *queue) collect(ctx context.Context) []*tracepb.Span {
	var batch []*tracepb.Span
	select {
	case s := <-q.spans:
		batch = append(batch, s)
	case <-ctx.Done():
	}
	wait := time.NewTimer(batchWait)
	defer wait.Stop()
	for len(batch) < maxBatch {
		if ctx.Err() != nil {
			select {
			case s := <-q.spans:
				batch = append(batch, s)
				continue
			default:
				return batch
			}
		}
		select {
		case s := <-q.spans:
			batch = append(batch, s)
		case <-wait.C:
			return batch
		case <-ctx.Done():
		}
	}
	return batch
}

// send sends a batch, again after failures that may pass, until it is too old or ctx has ended. The end of last ends the attempt.
func (q *queue) send(ctx, last context.Context, batch []*tracepb.Span) {
	began := time.Now()
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := q.export(last, batch)
		var partial *partialError
		switch {
		case err == nil:
			q.onResult(Exported, len(batch))
			q.note(nil)
			return
		case errors.As(err, &partial):
			refused := min(max(partial.rejected, 0), len(batch))
			q.onResult(Exported, len(batch)-refused)
			q.onResult(Failed, refused)
			q.note(err)
			return
		case !isTemporary(err) || ctx.Err() != nil || time.Since(began)+wait > maxAge:
			q.onResult(Failed, len(batch))
			q.note(err)
			return
		}
		q.note(err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// note states whether the collector takes spans.
func (q *queue) note(err error) {
	q.said.Is(event.TracesFail, err != nil, event.ID{}, func() event.Details { return event.Details{Fields: []any{"error", err}} }, nil)
}
