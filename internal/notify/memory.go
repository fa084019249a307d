package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"
)

// Bounds of the file of problems.
const (
	memoryVersion = 1
	maxMemory     = 16 << 20        // bytes
	savePeriod    = time.Second     // from one write to the next
	diskWait      = 3 * time.Second // that a begin, and the end of the agent, waits for the disk
)

// memory is the file of problems. Its methods do not wait for the disk, except for load and saveLast.
type memory struct {
	file  string // "" is none
	log   *slog.Logger
	write func(path string, content []byte, mode fs.FileMode) error

	change  int       // is counted up with each change of what the file remembers
	inFile  int       // the newest change that the file has
	writing int       // the newest change that is written now, 0 if nothing is
	next    time.Time // the earliest time of the next write
	fails   bool
	written chan written
}

// written is the result of a write.
type written struct {
	change int
	err    error
}

// fileContent is the content of the file.
type fileContent struct {
	Version  int
	Problems []json.RawMessage // remembered
}

// remembered is a problem in the file.
type remembered struct {
	Begin Event
	End   *Event `json:",omitempty"`
	Told  map[string]told
}

// told is what a receiver was told. With the zero value it is owed the begin, and did not get it.
type told struct {
	At        time.Time `json:",omitzero"`
	IsOpen    bool      `json:",omitempty"`
	MayKnow   bool      `json:",omitempty"`
	IsCurrent bool      `json:",omitempty"` // the begin that it took is Begin
}

// load reads what was remembered before a start of the agent. Without a file that can be read, nothing was: problems are sent once more.
func (m *memory) load() []*problem {
	if m.file == "" {
		return nil
	}
	list, err := readMemory(m.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.log.Warn("notifications of before the start not known", "file", m.file, "error", err)
	}
	var problems []*problem
	ends := make(map[string]*news) // one may be the end of several problems
	for _, r := range list {
		if !lasts(r.Begin.Name) {
			continue
		}
		p := &problem{begin: &news{Event: r.Begin, text: Text(r.Begin)}, told: make(map[string]*telling, len(r.Told)), isOld: true}
		p.begin.begins = p
		for receiver, was := range r.Told {
			t := &telling{at: was.At, isOpen: was.IsOpen, mayKnow: was.MayKnow}
			if was.IsCurrent {
				t.text = p.begin.text
			}
			p.told[receiver] = t
		}
		if r.End != nil {
			id := idOf(*r.End)
			if ends[id] == nil {
				ends[id] = &news{Event: *r.End, text: Text(*r.End)}
			}
			p.end = ends[id]
			p.end.ends = append(p.end.ends, p)
		}
		problems = append(problems, p)
	}
	return problems
}

func readMemory(file string) ([]remembered, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > maxMemory {
		err = errors.New("it is too large")
	}
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(file) //nolint:gosec // it is in the state directory
	if err != nil {
		return nil, err
	}
	var read struct {
		Version  int
		Problems []remembered
	}
	if err = json.Unmarshal(content, &read); err == nil && read.Version != memoryVersion {
		err = fmt.Errorf("it has version %d, want %d", read.Version, memoryVersion)
	}
	if err != nil {
		return nil, err
	}
	return read.Problems, nil
}

// remember returns what the file has to remember of a problem, false if that is nothing. A begin that waits may leave before the next write.
func (p *problem) remember() (remembered, bool) {
	r := remembered{Begin: p.begin.Event, Told: make(map[string]told, len(p.told))}
	if p.end != nil {
		end := p.end.Event
		r.End = &end
	}
	for receiver, t := range p.told {
		isCurrent := p.end == nil && t.text == p.begin.text // an end may have left
		mayKnow := t.mayKnow || t.notice != nil && t.notice.news.begins == p
		if p.end == nil || t.isOpen || mayKnow {
			r.Told[receiver] = told{At: t.at, IsOpen: t.isOpen, MayKnow: mayKnow, IsCurrent: isCurrent}
		}
	}
	return r, len(r.Told) > 0
}

// save hands the problems to a goroutine that writes them, if they changed, and the write before began a while ago and is done.
func (m *memory) save(problems map[string]*problem, now time.Time) {
	if m.file == "" || m.writing > 0 || m.change == m.inFile || now.Before(m.next) {
		return
	}
	m.writing, m.next = m.change, now.Add(savePeriod)
	var list []remembered
	for _, p := range problems {
		if r, isAny := p.remember(); isAny {
			list = append(list, r)
		}
	}
	change := m.change
	go func() {
		content, err := contentOf(list)
		err = errors.Join(err, m.write(m.file, content, 0o600))
		m.written <- written{change, err}
	}()
}

// contentOf returns the content of the file. Beyond its bound, the oldest problems are left out.
func contentOf(list []remembered) ([]byte, error) {
	slices.SortFunc(list, func(a, b remembered) int { return b.Begin.Time.Compare(a.Begin.Time) })
	content := fileContent{Version: memoryVersion}
	size := 1 << 10 // for the frame
	for _, r := range list {
		raw, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		if size += len(raw) + 1; size > maxMemory {
			break
		}
		content.Problems = append(content.Problems, raw)
	}
	return json.Marshal(content)
}

// note notes the result of a write. After one that failed, the next one is tried after a minute.
func (m *memory) note(w written, now time.Time) {
	m.writing = 0
	if w.err == nil {
		m.inFile = w.change
	} else {
		m.next = now.Add(checkPeriod)
		if !m.fails {
			m.log.Warn("notifications not remembered, so a restart may send problems again and their ends not at all", "file", m.file, "error", w.err)
		}
	}
	m.fails = w.err != nil
}

// untilDue returns the time until the file may be written.
func (m *memory) untilDue(now time.Time) time.Duration {
	if m.file == "" || m.writing > 0 || m.change == m.inFile {
		return checkPeriod
	}
	return m.next.Sub(now)
}

// after returns when to do what is due at a time, and needs a change in the file: at once if the file has it or cannot be written, and otherwise when the disk had its time.
func (m *memory) after(change int, due time.Time) time.Time {
	if m.file == "" || m.fails || change <= m.inFile {
		return due
	}
	return due.Add(diskWait)
}

// saveLast writes what changed, and waits for the disk for a bounded time.
func (m *memory) saveLast(problems map[string]*problem) {
	timer := time.NewTimer(diskWait)
	defer timer.Stop()
	for {
		m.next = time.Time{}
		if m.save(problems, time.Now()); m.writing == 0 {
			return
		}
		select {
		case w := <-m.written:
			if m.note(w, time.Now()); m.fails {
				return
			}
		case <-timer.C:
			return
		}
	}
}
