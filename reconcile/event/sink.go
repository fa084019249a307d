package event

import (
	"context"
	"log/slog"
	"time"
)

// Event is one thing that happened.
type Event struct {
	Name    Name
	Time    time.Time
	Level   slog.Level
	Fields  []slog.Attr
	Outcome any // what metrics and traces read, a type of package report; nil if they read nothing
	Note    Note
}

// Text returns a field as text, "" if the event does not have it.
func (e Event) Text(name string) string {
	for _, a := range e.Fields {
		if a.Key == name {
			return a.Value.String()
		}
	}
	return ""
}

// Note is what the journal's event says, for rows with a record.
type Note struct {
	VMID                            int
	Revision, Message, Detail, Hint string
}

// Details is what an event says beyond its row.
type Details struct {
	Fields  []any // name and value in turn, in the order of the row
	Outcome any
	Note    Note
	Fine    bool // it went well
}

// Sink tells what happens to the log and to its subscribers.
type Sink struct {
	log         *slog.Logger
	rows        map[Name]*Row
	subscribers []func(Event)
}

// NewSink returns a sink that writes to a log, and tells the subscribers in their order. They are called from every goroutine that uses the sink, so they must
// be safe for concurrent use and must not wait. A subscriber that is nil is left out.
func NewSink(log *slog.Logger, subscribers ...func(Event)) *Sink {
	s := &Sink{log: log, rows: byName}
	for _, subscriber := range subscribers {
		if subscriber != nil {
			s.subscribers = append(s.subscribers, subscriber)
		}
	}
	return s
}

// Happened tells that something happened once. It is safe for concurrent use.
func (s *Sink) Happened(name Name, d Details) { s.tell(name, d, nil) }

// tell tells an event. A field of the row that d does not have is taken from before, the fields of the event that began the state.
func (s *Sink) tell(name Name, d Details, before []slog.Attr) {
	row := s.rows[name]
	if row == nil {
		return // a state that is only remembered
	}
	e := Event{Name: name, Time: time.Now(), Level: row.Level, Fields: row.attrs(d.Fields, before), Outcome: d.Outcome, Note: d.Note}
	line := row.Line
	if d.Fine {
		e.Level, line = slog.LevelInfo, row.Fine
	}
	if row.LogFirst {
		s.write(row, line, e)
	}
	for _, subscriber := range s.subscribers {
		subscriber(e)
	}
	if !row.LogFirst {
		s.write(row, line, e)
	}
}

func (s *Sink) write(row *Row, line string, e Event) {
	if line == "" {
		return
	}
	attrs := e.Fields
	if !row.Plain {
		attrs = append([]slog.Attr{slog.Any(Key, e.Name)}, attrs...)
	}
	s.line(line, e.Level, attrs)
}

// line writes a line of the table.
func (s *Sink) line(line string, level slog.Level, attrs []slog.Attr) {
	s.log.LogAttrs(context.Background(), level, line, attrs...) //nolint:sloglint // the lines are constants of the table
}

// attrs returns the fields of an event in the order of the row. A field that the row does not have comes last.
func (r *Row) attrs(pairs []any, before []slog.Attr) []slog.Attr {
	given := make([]slog.Attr, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		given = append(given, slog.Any(name, pairs[i+1]))
	}
	names, optional := r.fields()
	attrs := make([]slog.Attr, 0, len(names))
	for _, name := range names {
		a, found := find(given, name)
		if !found {
			a, found = find(before, name)
		}
		isLeftOut := optional[name] && isEmpty(a.Value)
		if found && !isLeftOut {
			attrs = append(attrs, a)
		}
	}
	for _, a := range given {
		if _, ofRow := optional[a.Key]; !ofRow {
			attrs = append(attrs, a)
		}
	}
	return attrs
}

func find(attrs []slog.Attr, name string) (slog.Attr, bool) {
	for _, a := range attrs {
		if a.Key == name {
			return a, true
		}
	}
	return slog.Attr{}, false
}

// isEmpty reports whether an optional field has no value.
func isEmpty(v slog.Value) bool {
	switch x := v.Any().(type) {
	case nil:
		return true
	case string:
		return x == ""
	case int64:
		return x == 0
	case []string:
		return len(x) == 0
	}
	return false
}
