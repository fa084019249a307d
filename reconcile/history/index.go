package history

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
)

// Bounds of an Index.
const (
	maxEntries   = 4000
	maxRevisions = 200
	maxText      = 500 // bytes of a text
	maxTasks     = 8   // of a step
)

// Index holds the newest entries and revisions. It may be used from several goroutines. The zero value is empty.
type Index struct {
	mu        sync.Mutex
	entries   []*Entry          // oldest first
	open      map[string]*Entry // steps that have not ended, and the last one that has
	ended     string            // that step
	labels    map[int]string    // the guest that has a vmid
	owned     map[int]string    // the identity of the guest that the agent owns under a vmid
	revisions []*Revision       // oldest first
}

// Add adds a record of the journal. It must see the records in order.
func (x *Index) Add(r journal.Record) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open == nil {
		x.open, x.labels, x.owned = make(map[string]*Entry), make(map[int]string), make(map[int]string)
	}
	switch b := r.Body.(type) {
	case journal.Accepted:
		x.addRevision(&Revision{Commit: b.Commit, Time: r.Time, Signer: b.Subject, Issuer: b.Issuer, Proven: b.ProvenTime})
	case journal.Begun:
		e := &Entry{Time: r.Time, Name: b.Op, Guest: b.Kind + "/" + b.Name, VMID: b.VMID, Class: b.Class, Step: b.Step, Revision: b.Revision}
		x.labels[b.VMID] = e.Guest
		x.open[b.Step] = e
		x.addEntry(e)
		if v := x.revision(b.Revision); v != nil {
			v.Steps++
		}
	case journal.Dispatched:
		if e := x.open[b.Step]; e != nil && b.UPID != "" && len(e.Tasks) < maxTasks {
			e.Tasks = append(e.Tasks, b.UPID)
		}
	case journal.Ended:
		if e := x.open[b.Step]; e != nil {
			e.Result, e.Ended, e.Text = b.Result, r.Time, Clip(b.Error)
		}
		if x.ended != b.Step {
			delete(x.open, x.ended)
			x.ended = b.Step
		}
	case journal.Ordered:
		if e := x.open[b.Step]; e != nil && b.State == journal.OrderRun {
			e.Released = b.Subject
		}
	case journal.Owned:
		x.own(r, b)
	case journal.Disowned:
		x.addEntry(&Entry{Time: r.Time, Name: "disowned", VMID: b.VMID, Guest: x.labels[b.VMID], Text: Clip(b.Reason)})
		delete(x.labels, b.VMID)
		delete(x.owned, b.VMID)
	case journal.Event:
		x.addEvent(r, b)
	}
}

// own notes the guest of a vmid, and that the agent owns it now. Until its tag was read, a guest is only about to be owned. A later record of the same guest
// changes nothing of that.
func (x *Index) own(r journal.Record, b journal.Owned) {
	if b.Name != "" {
		x.labels[b.VMID] = b.Kind + "/" + b.Name
	}
	if identity, known := x.owned[b.VMID]; b.Claiming || known && identity == b.Identity {
		return
	}
	x.owned[b.VMID] = b.Identity
	x.addEntry(&Entry{Time: r.Time, Name: string(b.Origin), VMID: b.VMID, Guest: x.labels[b.VMID]})
}

func (x *Index) addEvent(r journal.Record, b journal.Event) {
	switch v := x.revision(b.Revision); {
	case b.Name == event.RecordRefused:
		x.addRevision(&Revision{Commit: b.Revision, Time: r.Time, Refused: Clip(b.Message), Error: Clip(b.Detail), Hint: Clip(b.Hint)})
	case b.Name == event.RecordConverged && v != nil:
		v.Converged = r.Time
	case b.VMID != 0:
		x.addEntry(&Entry{Time: r.Time, Name: b.Name, VMID: b.VMID, Guest: x.labels[b.VMID], Text: Clip(b.Message), Revision: b.Revision})
	}
}

func (x *Index) addEntry(e *Entry) { x.entries = append(trim(x.entries, maxEntries), e) }

func (x *Index) addRevision(v *Revision) { x.revisions = append(trim(x.revisions, maxRevisions), v) }

// trim drops the oldest half of a list that is full, so that the cost of an addition is constant on average.
func trim[T any](list []T, limit int) []T {
	if len(list) < limit {
		return list
	}
	return slices.Clone(list[limit/2:])
}

// revision returns the newest accepted revision with the commit of a revision, nil if it is not remembered.
func (x *Index) revision(revision string) *Revision {
	commit := revision[strings.LastIndex(revision, ":")+1:]
	for _, v := range slices.Backward(x.revisions) {
		if v.Commit == commit && v.Refused == "" {
			return v
		}
	}
	return nil
}

// Entries returns the newest entries about a guest, newest first: those with its vmid, or with its label if it has no vmid.
func (x *Index) Entries(label string, vmid, limit int) []Entry {
	return x.find(limit, func(e *Entry) bool { return vmid != 0 && e.VMID == vmid || vmid == 0 && e.Guest == label })
}

// Steps returns the newest steps of all guests, newest first.
func (x *Index) Steps(limit int) []Entry {
	return x.find(limit, func(e *Entry) bool { return e.Step != "" })
}

func (x *Index) find(limit int, matches func(*Entry) bool) []Entry {
	x.mu.Lock()
	defer x.mu.Unlock()
	var found []Entry
	for _, e := range slices.Backward(x.entries) {
		if len(found) == limit {
			break
		}
		if matches(e) {
			entry := *e
			entry.Tasks = slices.Clone(e.Tasks)
			if v := x.revision(e.Revision); v != nil {
				entry.Signer = v.Signer
			}
			found = append(found, entry)
		}
	}
	return found
}

// Revisions returns the newest revisions, newest first. A commit that was refused several times is one revision.
func (x *Index) Revisions(limit int) []Revision {
	x.mu.Lock()
	defer x.mu.Unlock()
	var found []Revision
	for _, v := range slices.Backward(x.revisions) {
		if len(found) == limit {
			break
		}
		same := func(other Revision) bool {
			return other.Commit == v.Commit && other.Refused == v.Refused
		}
		if !slices.ContainsFunc(found, same) {
			found = append(found, *v)
		}
	}
	return found
}

// Clip bounds a text, without cutting a character in two.
func Clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
