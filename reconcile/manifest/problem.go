package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// Problem is one thing wrong with a manifest.
type Problem struct {
	Origin  guest.Origin // zero where no place is to blame, such as a missing Cluster
	Guest   string       // label of the document, "VirtualMachine/web-1"; "" where it has none
	Field   string       // path below spec, "disks.scsi0.size", or "metadata.name"; "" for the whole document
	Message string       // "got 4 MiB, want at least 16 MiB"
	Hint    string       // what to do about it; may be ""
}

// String returns "web.yaml:12:5: VirtualMachine web-1: memory.size: got 4 MiB, want at least 16 MiB", with the hint in
// parentheses behind it.
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

// Problems is the error of Parse and Lower: everything that is wrong, sorted by place. After 500 problems the last one says how many
// more there are.
type Problems struct{ List []Problem }

// Error returns one problem a line.
func (p *Problems) Error() string {
	lines := make([]string, len(p.List))
	for i, problem := range p.List {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// maxProblems bounds what one report lists. One wrong file can have more of them than anybody reads.
const maxProblems = 500

// report collects problems. A value that many guests inherit is read many times; its problem is kept once.
type report struct {
	list  []Problem
	seen  map[problemKey]bool
	count int // of problems met, repeated ones included
}

type problemKey struct {
	origin  guest.Origin
	message string
}

func (r *report) add(p Problem) {
	r.count++
	s := problemKey{p.Origin, p.Message}
	if p.Origin != (guest.Origin{}) && r.seen[s] {
		return
	}
	if r.seen == nil {
		r.seen = map[problemKey]bool{}
	}
	r.seen[s] = true
	r.list = append(r.list, p)
}

// err returns the problems as an error, nil where there are none.
func (r *report) err() error {
	if len(r.list) == 0 {
		return nil
	}
	return &Problems{List: r.sorted()}
}

// sorted returns the problems by place, and how many more there are than anybody reads.
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
