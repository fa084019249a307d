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
	every  time.Duration
	states []state
}

// state is a state that lasts.
type state struct {
	name    Name
	id      ID
	since   time.Time
	changed time.Time // since when it has the id
	told    bool
	toldID  ID   // the id that was told last
	logged  bool // a line says that it has this id, which is not told yet
	muted   bool // neither its begin nor its end is told
	stated  bool // since the last call of Rest
	fields  []slog.Attr
	detail  Details // of the event that told it
}

// isTold reports whether there is nothing more to tell of the state as it is now.
func (s *state) isTold() bool { return s.muted || s.told && s.toldID == s.id }

// Subject returns a subject for which no state lasts.
func (s *Sink) Subject() *Subject { return &Subject{sink: s} }

// ReadEvery sets the time between two readings of what states last. It returns the subject.
func (s *Subject) ReadEvery(every time.Duration) *Subject {
	s.every = every
	return s
}

// Lasts states that a state lasts. It tells the event of the row when the state has lasted for as long as the row says, once, with the details of that moment. Until
// then a line says that it has begun. It returns whether the state is new.
func (s *Subject) Lasts(name Name, id ID, details func() Details) (isNew bool) {
	i := s.find(name, id)
	if isNew = i < 0; isNew {
		i = s.add(name, id)
	}
	s.state(&s.states[i], details)
	return isNew
}

// add adds a state that begins now, and returns its index.
func (s *Subject) add(name Name, id ID) int {
	now := time.Now()
	s.states = append(s.states, state{name: name, id: id, since: now, changed: now})
	return len(s.states) - 1
}

// state states that a state lasts.
func (s *Subject) state(now *state, details func() Details) {
	now.stated = true
	if now.isTold() {
		return
	}
	row := s.sink.rows[now.name]
	if row == nil { // it is only remembered
		now.told, now.toldID = true, now.id
		return
	}
	from := now.changed
	if !now.told {
		from = now.since
	}
	if time.Since(from) < row.wait(now.id, s.every) {
		s.early(now, row, details)
		return
	}
	d := details()
	now.told, now.toldID = true, now.id
	now.fields, now.detail = row.attrs(d.Fields, nil), d
	s.sink.tell(now.name, d, nil)
}

// early writes the line of a state that is not told yet, once.
func (s *Subject) early(now *state, row *Row, details func() Details) {
	if now.logged {
		return
	}
	now.logged = true
	fields := row.attrs(details().Fields, nil)
	if !now.told {
		now.fields = fields
	}
	s.sink.line(row.Early, slog.LevelInfo, fields)
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

// Is states the only state of a row: whether it lasts, and which. The end of a state that gets another id is not told, and the other id is, when it has lasted for
// as long as the row says. If none lasts any more, the end of the row is told; ended may be nil, and the end has the fields of the begin then.
func (s *Subject) Is(name Name, lasts bool, id ID, details func() Details, ended func(was ID) Details) {
	i := s.only(name)
	switch {
	case i < 0 && !lasts:
	case !lasts:
		was := s.states[i]
		s.remove(i)
		var d Details
		if ended != nil && !was.muted && (was.told || was.logged) {
			d = ended(was.id)
		}
		s.over(&was, s.sink.rows[name].end(), d)
	case i < 0:
		s.state(&s.states[s.add(name, id)], details)
	default:
		if now := &s.states[i]; now.id != id {
			now.id, now.changed, now.logged = id, time.Now(), false
		}
		s.state(&s.states[i], details)
	}
}

// Assume makes a state last as if it had been told, for what was told before a start.
func (s *Subject) Assume(name Name, id ID) {
	now := &s.states[s.add(name, id)]
	now.told, now.toldID = true, id
}

// Mute makes a state last of which neither the begin nor the end is told.
func (s *Subject) Mute(name Name, id ID) {
	s.states[s.add(name, id)].muted = true
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

// over tells the end of a state, if its begin was told. If only a line said that it had begun, a line says that it is over.
func (s *Subject) over(was *state, end Name, d Details) {
	switch {
	case end == "" || was.muted:
		return
	case !was.told && was.logged:
		row := s.sink.rows[end]
		s.sink.line(row.Line, slog.LevelInfo, row.attrs(d.Fields, was.fields))
		return
	case !was.told:
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
