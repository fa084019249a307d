package traces

import (
	"context"
	"log/slog"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
)

// Attributes of log lines and labels of exemplars.
const (
	traceKey = "trace_id"
	spanKey  = "span_id"
)

// IDs returns the ids of the span of a step, or of a revision if step is "". They are "" while nothing is recorded.
func (r *Recorder) IDs(revision, step string) (traceID, spanID string) {
	if !r.isActive() || revision == "" && step == "" {
		return "", ""
	}
	at := revisionAt(r.opts.Cluster, commitOf(revision))
	if step != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		s := r.steps[step]
		if s == nil {
			return "", ""
		}
		at = s.position
	}
	return at.trace.String(), at.span.String()
}

// Handler returns a handler that adds the ids of its trace and span to every record about a revision or a step, and passes every record on to next.
func (r *Recorder) Handler(next slog.Handler) slog.Handler { return handler{next: next, recorder: r} }

type handler struct {
	next     slog.Handler
	recorder *Recorder
	grouped  bool // attributes would be added to the group
}

// Enabled implements slog.Handler.
func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.next = h.next.WithAttrs(attrs)
	return h
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	h.next, h.grouped = h.next.WithGroup(name), true
	return h
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, record slog.Record) error {
	if h.recorder.isActive() && !h.grouped {
		if at := h.recorder.positionOf(ctx, record); at.trace != (traceID{}) {
			record = record.Clone()
			record.AddAttrs(slog.String(traceKey, at.trace.String()))
			if at.span != (spanID{}) {
				record.AddAttrs(slog.String(spanKey, at.span.String()))
			}
		}
	}
	return h.next.Handle(ctx, record)
}

// positionOf returns the span that a record is about, the zero value if it is about none.
func (r *Recorder) positionOf(ctx context.Context, record slog.Record) position {
	var name event.Name
	var revision, commit, reason string
	var vmid int
	step := cluster.StepOf(ctx)
	record.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case event.Key:
			name, _ = a.Value.Any().(event.Name)
		case "revision":
			revision = a.Value.String()
		case "commit":
			commit = a.Value.String()
		case "reason":
			reason = a.Value.String()
		case "step":
			step = a.Value.String()
		case "vmid":
			if a.Value.Kind() == slog.KindInt64 {
				vmid = int(a.Value.Int64())
			}
		}
		return true
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.steps[step]; s != nil {
		return s.position
	}
	switch {
	case step != "": // of an order, or of a step that has ended: its trace may be that of a repair
	case name == event.RevisionRefused:
		return refusalAt(r.opts.Cluster, commit, reason)
	case revision != "":
		return revisionAt(r.opts.Cluster, commitOf(revision))
	case r.current != nil && (strings.HasPrefix(string(name), "step.") || strings.HasPrefix(string(name), "guest.")):
		return r.current.position
	case r.repairs[vmid] != nil:
		return r.repairs[vmid].position
	case commit != "":
		return position{trace: revisionAt(r.opts.Cluster, commit).trace}
	}
	return position{}
}
