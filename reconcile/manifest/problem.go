package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// Problem is one mistake in a manifest.
type Problem struct {
	Origin  guest.Origin // zero if there is no position, such as for a missing Cluster
	Guest   string       // label of the document, "VirtualMachine/web-1"; "" if it has none
	Field   string       // path below spec, "disks.scsi0.size", or "metadata.name"; "" for the whole document
	Message string       // "got 4 MiB, want at least 16 MiB"
	Hint    string       // how to correct it; may be ""
	New     bool         // earlier releases accepted it. Parse refuses it; a revision in force that has it is read as it was accepted, with a warning
}

// String returns "web.yaml:12:5: VirtualMachine web-1: memory.size: got 4 MiB, want at least 16 MiB", followed by the hint in parentheses.
func (p Problem) String() string {
	var b strings.Builder
	for _, part := range []string{p.Origin.String(), strings.Replace(p.Guest, "/", " ", 1), p.Field} {
		if part != "" {
			b.WriteString(part + ": ")
		}
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString(" (" + p.Hint + ")")
	}
	return b.String()
}

// Problems is the error of Parse and Lower: every problem, sorted by position. After 500 problems the last entry contains the number of the others.
type Problems struct{ List []Problem }

// Error returns one problem per line.
func (p *Problems) Error() string {
	lines := make([]string, len(p.List))
	for i, problem := range p.List {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// maxProblems limits the length of a report. One wrong file can have more problems than a person reads.
const maxProblems = 500

// report collects problems. Many guests can inherit the same value; its problem is kept once.
type report struct {
	list  []Problem
	seen  map[problemKey]bool
	count int // number of problems, including repeated ones

	firsts       map[string]Problem // first problem of each guest, by label, including inherited ones
	ofAccepted   bool               // the files are a revision that was accepted: what earlier releases accepted is a warning
	warnings     []Problem          // what would be refused in a new revision
	unidentified bool               // a field that says which guest a manifest means, or what it inherits, has a problem
}

type problemKey struct {
	origin  guest.Origin
	message string
}

func (r *report) add(p Problem) {
	isWarning := p.New && r.ofAccepted
	if !isWarning {
		r.count++
		r.noteGuest(p)
	}
	s := problemKey{p.Origin, p.Message}
	if p.Origin != (guest.Origin{}) && r.seen[s] {
		return
	}
	if r.seen == nil {
		r.seen = map[problemKey]bool{}
	}
	r.seen[s] = true
	if isWarning {
		p.Message = "accepted before, refused in a new revision: " + p.Message
		r.warnings = append(r.warnings, p)
		return
	}
	r.list = append(r.list, p)
}

// noteGuest notes that a guest has a problem.
func (r *report) noteGuest(p Problem) {
	if !isOfGuest(p) {
		return
	}
	if r.firsts == nil {
		r.firsts = map[string]Problem{}
	}
	if _, known := r.firsts[p.Guest]; !known {
		r.firsts[p.Guest] = p
	}
	r.unidentified = r.unidentified || identifies(p.Field)
}

// err returns the problems as an error, or nil if there are none.
func (r *report) err() error {
	if len(r.list) == 0 {
		return nil
	}
	return &Problems{List: r.sorted()}
}

// sorted returns the problems by position, at most maxProblems, followed by the number of the others.
func (r *report) sorted() []Problem {
	slices.SortStableFunc(r.list, func(a, b Problem) int {
		return cmp.Or(compareOrigins(a.Origin, b.Origin), cmp.Compare(a.Guest, b.Guest), cmp.Compare(a.Field, b.Field),
			cmp.Compare(a.Message, b.Message))
	})
	if more := len(r.list) - maxProblems; more > 0 {
		r.list = append(r.list[:maxProblems], Problem{Message: fmt.Sprintf("%d more problems are not shown", more)})
	}
	return r.list
}

func compareOrigins(a, b guest.Origin) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}
