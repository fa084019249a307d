package traces

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/report"
)

// Options configures a Recorder.
type Options struct {
	// Cluster is the name of the cluster. It is part of every id.
	Cluster string
	// Version is that of the agent.
	Version string
	// OnResult is called with what became of spans, from several goroutines. Default: nothing.
	OnResult func(r Result, spans int)
	// Logger logs that the collector does not take spans. Default: no log.
	Logger *slog.Logger
}

// service is the name of the agent in traces.
const service = "gitops-agent"

// Settings are the part of the configuration that a reload replaces.
type Settings struct {
	Branch    string
	Collector *Collector // nil records nothing
}

// Recorder makes traces of what the engine reports. Create it with New, then call Run. Its methods are safe for concurrent use and do not wait for the
// collector.
type Recorder struct {
	opts      Options
	resource  *resourcepb.Resource // who sends
	scope     *commonpb.InstrumentationScope
	collector atomic.Pointer[Collector] // nil while none is configured: nothing is recorded
	queue     *queue

	mu        sync.Mutex
	branch    string
	past      Past
	current   *revision // that is not in sync yet; nil if there is none
	replaced  revision  // the one before, which a newer one superseded
	converged string    // the newest commit whose guests were all in sync
	intake    intake
	steps     map[string]*step  // that have not ended, by id
	repairs   map[int]*repair   // by vmid
	holds     map[holdKey]*hold // that have not ended
	refused   []Refusal         // for which there is a trace
}

// New returns a recorder without a collector.
func New(opts Options) *Recorder {
	if opts.OnResult == nil {
		opts.OnResult = func(Result, int) {}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	host, _ := os.Hostname()
	r := &Recorder{
		opts: opts,
		resource: &resourcepb.Resource{Attributes: []attribute{
			text(keyServiceName, service), text(keyServiceVersion, opts.Version), text(keyServiceInstance, rand.Text()), text(keyHost, host), text(keyCluster, opts.Cluster),
		}},
		scope: &commonpb.InstrumentationScope{Name: service, Version: opts.Version},
		steps: make(map[string]*step), repairs: make(map[int]*repair), holds: make(map[holdKey]*hold),
	}
	r.queue = &queue{spans: make(chan *tracepb.Span, maxQueued), export: r.export, onResult: opts.OnResult, said: event.NewSink(opts.Logger).Subject()}
	return r
}

// Configure replaces the settings. It does not wait. Spans that wait go to the new collector.
func (r *Recorder) Configure(s Settings) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.branch = s.Branch
	r.collector.Store(s.Collector)
	if s.Collector == nil { // what begins or ends from now on is not seen
		r.current, r.replaced, r.intake = nil, revision{}, intake{}
		clear(r.steps)
		clear(r.repairs)
		clear(r.holds)
	}
}

func (r *Recorder) isActive() bool { return r.collector.Load() != nil }

// Run sends spans until ctx ends. It then tries for three seconds to send what waits.
func (r *Recorder) Run(ctx context.Context) { r.queue.run(ctx) }

// export sends spans in one request.
func (r *Recorder) export(ctx context.Context, spans []*tracepb.Span) error {
	collector := r.collector.Load()
	if collector == nil {
		return &permanentError{errors.New("traces were turned off")}
	}
	return collector.export(ctx, &tracepb.ResourceSpans{
		Resource: r.resource, SchemaUrl: schemaURL, ScopeSpans: []*tracepb.ScopeSpans{{Scope: r.scope, SchemaUrl: schemaURL, Spans: spans}},
	})
}

// record calls f alone, if a collector is configured.
func (r *Recorder) record(f func(now time.Time)) {
	if !r.isActive() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f(time.Now())
}

// Report ends the trace of a revision whose guests are all in sync, and of repairs.
func (r *Recorder) Report(newest report.Report) {
	r.record(func(now time.Time) {
		r.endRepairs(newest, now)
		accepted := newest.Source.Accepted
		if accepted == nil || accepted.Converged.IsZero() {
			return
		}
		r.resume(accepted.Commit)
		if r.current != nil && r.current.commit == accepted.Commit {
			r.endRevision(resultConverged, accepted.Converged)
		}
		r.converged = accepted.Commit
	})
}
