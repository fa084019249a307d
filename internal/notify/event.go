package notify

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"gitops-agent/reconcile/event"
)

// Severity is how urgent an event is.
type Severity string

// The severities, in ascending order.
const (
	Info    Severity = "info"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// Severities lists every severity in ascending order.
func Severities() []Severity { return []Severity{Info, Warning, Error} }

// Event is an event of the agent.
type Event struct {
	Time     time.Time
	Name     event.Name
	Severity Severity
	// Guest is kind and name, "" if the event concerns no guest.
	Guest string
	// Attributes are the attributes of the log line as text, also vmid and guest.
	Attributes map[string]string
	// Tags are those of the guest.
	Tags []string
	// Repeated is when a problem was sent again because it still exists, zero if this is the first time.
	Repeated time.Time
}

// maxAttribute bounds the text of an attribute, in bytes. Chat services refuse long messages.
const maxAttribute = 1000

// Handler returns a handler that passes every record on to next, and events also to the notifier. It does not wait for the notifier.
func (n *Notifier) Handler(next slog.Handler) slog.Handler { return handler{next: next, notifier: n} }

type handler struct {
	next     slog.Handler
	notifier *Notifier
	attrs    []slog.Attr
	grouped  bool // events have no groups
}

// Enabled implements slog.Handler. Events are of level INFO or above, so a higher level of the log does not hide them.
func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo && h.notifier.active.Load() || h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if h.notifier.active.Load() {
		if e, found := h.eventOf(r); found {
			h.notifier.hand(e)
		}
	}
	if !h.next.Enabled(ctx, r.Level) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.next, h.attrs = h.next.WithAttrs(attrs), append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)
	return h
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	h.next, h.grouped = h.next.WithGroup(name), true
	return h
}

// eventOf returns the event of a record, false if it has none.
func (h handler) eventOf(r slog.Record) (Event, bool) {
	var name event.Name
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == event.Key {
			name, _ = a.Value.Any().(event.Name)
		}
		return name == ""
	})
	if name == "" || h.grouped {
		return Event{}, false
	}
	e := Event{Time: r.Time, Name: name, Severity: severityOf(name, r.Level), Attributes: make(map[string]string)}
	add := func(a slog.Attr) bool {
		if a.Key != event.Key {
			e.Attributes[a.Key] = textOf(a.Value)
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	e.Guest = e.Attributes["guest"]
	return e, true
}

// severityOf returns the severity of an event. A held step is a warning, because a person must act.
func severityOf(name event.Name, level slog.Level) Severity {
	switch {
	case level >= slog.LevelError:
		return Error
	case level >= slog.LevelWarn || name == event.StepHeld:
		return Warning
	}
	return Info
}

func textOf(v slog.Value) string {
	text := ""
	switch x := v.Any().(type) {
	case []string:
		text = strings.Join(x, ", ")
	case time.Duration:
		text = x.Round(10 * time.Millisecond).String()
	case time.Time:
		text = x.UTC().Format(time.RFC3339)
	default:
		text = v.String()
	}
	if len(text) > maxAttribute {
		text = strings.ToValidUTF8(text[:maxAttribute], "") + "…"
	}
	return text
}
