package event

import (
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Row is what the table says about an event.
type Row struct {
	Name  Name
	Level slog.Level // of its line
	Line  string     // the message of its line; "" writes none
	Fine  string     // the message of the line, at level INFO, if it went well; "" for an event that cannot
	// Fields are the attributes of the line in their order, separated by spaces. A field with a question mark is left out while it has no value.
	Fields string
	// Sentence says to a person what happened. {op} is replaced by the value of a field, {"order"} by the value in quotes, {: error} by the value after the text
	// before it, or by nothing if there is no value, and {reason|none} by the text after the bar if there is no value. {guest} is the guest with its vmid,
	// {revision} and {commit} are short ids, and {cause} is in words. "" lists the fields.
	Sentence string
	Docs     string // when it is told, in docs/events.md
	Record   string // the name of the journal's event; "" records none

	End     Name          // the event that tells that the state is over; "" tells nothing
	EndedBy []Name        // other events that end the state. One without the fields of By ends it for all.
	By      string        // the fields that tell states of this row apart, separated by spaces
	For     time.Duration // how long the state lasts before it is told: a short outage is no event. 0 tells it at once
	Early   string        // the message of the line that says at once, at level INFO and without the event, that a state with For has begun
	Passing []string      // For is for states whose ids begin with one of these; none is every state

	Act      bool // a person has to act: a warning for people, although the line is of level INFO
	Default  bool // sent by routes of notifications that name no events
	LogFirst bool // the line is written before the subscribers are told, so that it can name the span that the event ends
	Plain    bool // a line or a count without an event
}

// Lasts reports whether the event begins a state.
func (r Row) Lasts() bool { return r.End != "" || len(r.EndedBy) > 0 }

// wait returns how long a state lasts before it is told. Every is the time between two readings of what states it, 0 if it is not known: a state lasts for at least one
// such time, and is told after four.
func (r *Row) wait(id ID, every time.Duration) time.Duration {
	switch {
	case r == nil || r.For == 0, len(r.Passing) > 0 && !slices.Contains(r.Passing, id[0]):
		return 0
	case every == 0:
		return r.For
	}
	return min(max(r.For, every), 4*every)
}

// EndsWith reports whether an event ends the state that this row begins.
func (r Row) EndsWith(name Name) bool {
	return r.End == name && name != "" || slices.Contains(r.EndedBy, name)
}

// fields returns the names of the fields, and which of them are optional.
func (r Row) fields() (names []string, optional map[string]bool) {
	optional = make(map[string]bool)
	for text := range strings.FieldsSeq(r.Fields) {
		name, isOptional := strings.CutSuffix(text, "?")
		names, optional[name] = append(names, name), isOptional
	}
	return names, optional
}

// Names lists every event in the order of the table.
func Names() []Name {
	var names []Name
	for _, row := range table {
		if !row.Plain {
			names = append(names, row.Name)
		}
	}
	return names
}

// Rows lists the rows of every event in the order of the table.
func Rows() []Row {
	var rows []Row
	for _, row := range table {
		if !row.Plain {
			rows = append(rows, row)
		}
	}
	return rows
}

// RowOf returns the row of an event, false if the table has none.
func RowOf(name Name) (Row, bool) {
	row, found := byName[name]
	if !found {
		return Row{}, false
	}
	return *row, true
}

var byName = func() map[Name]*Row {
	rows := make(map[Name]*Row, len(table))
	for i := range table {
		rows[table[i].Name] = &table[i]
	}
	return rows
}()
