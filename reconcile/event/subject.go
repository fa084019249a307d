package event

import (
	"log/slog"
	"time"
)

// ID tells states of one row and one subject apart, such as an operation and the reason why it is held. A single state has the value that is told again when it
// changes, such as a reason.
type ID [3]string

// Subject remembers which states of one thing last: of the agent, or of a guest. What a caller states again costs a search among the few states that last, and
// allocates nothing. A Subject belongs to one goroutine.
type Subject struct {
	sink   *Sink
	states []state
}

// state is a state that lasts.
type state struct {
	name   Name
	id     ID
	since  time.Time
	told   bool
	muted  bool // neither its begin nor its end is told
	stated bool // since the last call of Rest
	fields []slog.Attr
	detail Details // of the event that told it
}

// Subject returns a subject for which no state lasts.
func (s *Sink) Subject() *Subject { return &Subject{sink: s} }

// Lasts states that a state lasts. It tells the event of the row when the state has lasted for as long as the row says, once, with the details of that moment.
// It returns whether the state is new.
func (s *Subject) Lasts(name Name, id ID, details func() Details) (isNew bool) {
	i := s.find(name, id)
	if isNew = i < 0; isNew {
		i = len(s.states)
		s.states = append(s.states, state{name: name, id: id, since: time.Now()})
	}
	now := &s.states[i]
	now.stated = true
	if now.told || now.muted {
		return isNew
	}
	row := s.sink.rows[name]
	if row != nil && row.For > 0 && time.Since(now.since) < row.For {
		return isNew
	}
	now.told = true
	if row == nil {
		return isNew // it is only remembered
	}
	d := details()
	now.fields, now.detail = row.attrs(d.Fields, nil), d
	s.sink.tell(name, d, nil)
	return isNew
}

// Rest ends the states of a row that were not stated since the last call. Over returns the event that tells it, "" to tell nothing. It may be nil: then the end
// of the row is told.
func (s *Subject) Rest(name Name, over func(ID) Name) {
	kept := s.states[:0]
	for i := range s.states {
		now := s.states[i]
		if now.name != name || now.stated {
			now.stated = now.stated && now.name != name
			kept = append(kept, now)
			continue
		}
		end := s.sink.rows[name].end()
		if over != nil {
			end = over(now.id)
		}
		s.over(&now, end, Details{})
	}
	clear(s.states[len(kept):])
	s.states = kept
}

// Is states the only state of a row: whether it lasts, and which. A state with another id replaces the one before, whose end is not told. If none lasts any
// more, the end of the row is told; ended may be nil, and the end has the fields of the begin then.
func (s *Subject) Is(name Name, lasts bool, id ID, details func() Details, ended func(was ID) Details) {
	if i := s.only(name); i >= 0 && (!lasts || s.states[i].id != id) {
		was := s.states[i]
		s.remove(i)
		if !lasts {
			var d Details
			if ended != nil && was.told && !was.muted {
				d = ended(was.id)
			}
			s.over(&was, s.sink.rows[name].end(), d)
			return
		}
	}
	if lasts {
		s.Lasts(name, id, details)
	}
}

// Assume makes a state last as if it had been told, for what was told before a start.
func (s *Subject) Assume(name Name, id ID) {
	s.states = append(s.states, state{name: name, id: id, since: time.Now(), told: true})
}

// Mute makes a state last of which neither the begin nor the end is told.
func (s *Subject) Mute(name Name, id ID) {
	s.states = append(s.states, state{name: name, id: id, since: time.Now(), muted: true})
}

// Drop ends the states of a row without telling it. Without an id it ends all of them.
func (s *Subject) Drop(name Name, ids ...ID) {
	for i := len(s.states) - 1; i >= 0; i-- {
		if s.states[i].name == name && (len(ids) == 0 || s.states[i].id == ids[0]) {
			s.remove(i)
		}
	}
}

// Keep states again the states of a row whose ids begin with a text.
func (s *Subject) Keep(name Name, first string) {
	for i := range s.states {
		if s.states[i].name == name && s.states[i].id[0] == first {
			s.states[i].stated = true
		}
	}
}

// Since returns since when a state of a row has lasted, the zero time if none does.
func (s *Subject) Since(name Name) time.Time {
	if i := s.only(name); i >= 0 {
		return s.states[i].since
	}
	return time.Time{}
}

// over tells the end of a state, if its begin was told.
func (s *Subject) over(was *state, end Name, d Details) {
	if end == "" || !was.told || was.muted {
		return
	}
	if d.Outcome == nil {
		d.Outcome = was.detail.Outcome
	}
	if d.Note == (Note{}) {
		d.Note = was.detail.Note
	}
	s.sink.tell(end, d, was.fields)
}

// end returns the event that tells that a state of the row is over, "" if none does.
func (r *Row) end() Name {
	if r == nil {
		return ""
	}
	return r.End
}

func (s *Subject) find(name Name, id ID) int {
	for i := range s.states {
		if s.states[i].name == name && s.states[i].id == id {
			return i
		}
	}
	return -1
}

func (s *Subject) only(name Name) int {
	for i := range s.states {
		if s.states[i].name == name {
			return i
		}
	}
	return -1
}

func (s *Subject) remove(i int) {
	s.states[i] = s.states[len(s.states)-1]
	s.states[len(s.states)-1] = state{}
	s.states = s.states[:len(s.states)-1]
}
