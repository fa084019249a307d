package traces

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
)

// A line about a revision or a step has the ids of its span, and every other line is passed on as it is.
func TestLogLinesNameTheirSpans(t *testing.T) {
	bubble(t, func(l *lab) {
		l.accept(first)
		l.begin("s1", first, web)
		root := revisionAt("home", first)
		step, refusal := stepAt(root, "s1"), refusalAt("home", second, "unsigned")
		ids := func(at position) string { return " trace_id=" + at.trace.String() + " span_id=" + at.span.String() }
		for name, test := range map[string]struct {
			ctx   context.Context
			attrs []any
			want  string
		}{
			"revision":        {t.Context(), []any{event.Key, event.RevisionAccepted, "revision", revisionName(first)}, ids(root)},
			"refusal":         {t.Context(), []any{event.Key, event.RevisionRefused, "commit", second, "reason", "unsigned"}, ids(refusal)},
			"step":            {t.Context(), []any{event.Key, event.StepBegun, "step", "s1", "revision", revisionName(first)}, ids(step)},
			"held step":       {t.Context(), []any{event.Key, event.StepHeld, "vmid", 201}, ids(root)},
			"request":         {cluster.WithStep(t.Context(), "s1"), []any{"method", "PUT"}, ids(step)},
			"order":           {t.Context(), []any{event.Key, event.OrderAccepted, "commit", first}, " trace_id=" + root.trace.String()},
			"something else":  {t.Context(), []any{event.Key, event.ConfigReloaded, "changed", "traces.endpoint"}, ""},
			"step that ended": {t.Context(), []any{event.Key, event.OrderExecuted, "commit", first, "step", "s0"}, ""},
		} {
			var out bytes.Buffer
			log := slog.New(l.Handler(slog.NewTextHandler(&out, nil)))
			log.InfoContext(test.ctx, "message", test.attrs...)
			_, got, found := strings.Cut(strings.TrimSuffix(out.String(), "\n"), " trace_id=")
			if found {
				got = " trace_id=" + got
			}
			if got != test.want {
				t.Errorf("%s: got %q, want %q at the end", name, out.String(), test.want)
			}
		}
		var out bytes.Buffer
		l.Configure(Settings{})
		slog.New(l.Handler(slog.NewTextHandler(&out, nil))).Info("message", "revision", revisionName(first))
		if strings.Contains(out.String(), "trace_id") {
			t.Errorf("got %q while no collector is configured, want no trace", out.String())
		}
	})
}
