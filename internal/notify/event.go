package notify

import (
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
	// Attributes are the fields of the event as text, also vmid and guest.
	Attributes event.Texts
	// Tags are those of the guest.
	Tags []string
	// Repeated is when a problem was sent again because it still exists, zero if this is the first time.
	Repeated time.Time

	began  string  // the sentence of the begin, of an end whose receiver may not know it
	notice *notice // of an event about problems for one receiver
}

// maxAttribute bounds the text of an attribute, in bytes. Chat services refuse long messages.
const maxAttribute = 1000

// Event takes an event. It does not wait for the dispatcher.
func (n *Notifier) Event(happened event.Event) {
	row, known := event.RowOf(happened.Name)
	if !known || row.Plain || !n.active.Load() {
		return
	}
	e := Event{Time: happened.Time, Name: happened.Name, Severity: severityOf(row, happened.Level), Attributes: make(event.Texts, len(happened.Fields))}
	for _, a := range happened.Fields {
		e.Attributes[a.Key] = textOf(a.Value)
	}
	e.Guest = e.Attributes["guest"]
	n.hand(e)
}

// severityOf returns the severity of an event.
func severityOf(row event.Row, level slog.Level) Severity {
	switch {
	case level >= slog.LevelError:
		return Error
	case level >= slog.LevelWarn || row.Act:
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
