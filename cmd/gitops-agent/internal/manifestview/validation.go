package manifestview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/manifest"
)

// A Validation is the result of validating manifests, and its JSON form.
type Validation struct {
	SchemaVersion int              `json:"schemaVersion"`
	Valid         bool             `json:"valid"`
	Cluster       string           `json:"cluster,omitempty"`
	Guests        int              `json:"guests"`
	Images        int              `json:"images"`
	Objects       int              `json:"objects"` // that are neither guests nor Images
	Policies      int              `json:"policies"`
	Problems      []problemReport  `json:"problems"`
	Warnings      []problemReport  `json:"warnings"`
	Schedules     []scheduleReport `json:"schedules,omitempty"`
	Findings      []findingReport  `json:"findings,omitempty"` // of policies; they are no problems

	problems, warnings []manifest.Problem
	findings           []manifest.Finding
}

// findingReport is what a policy says of a guest that is at this position.
type findingReport struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	manifest.Finding
}

// scheduleReport is when something happens in Proxmox by a schedule at this position.
type scheduleReport struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Object string `json:"object"` // "BackupJob/nightly"
	Field  string `json:"field"`
	Text   string `json:"text"`
	Words  string `json:"words"`          // "every day at 02:30"
	Next   string `json:"next,omitempty"` // "2027-01-31 02:30:00" on the clock of the node; "" for never

	place string // "jobs.yaml:4:18"
}

// newSchedules returns the schedules of a set, and when each runs next. The node's time zone is not known: its clock is taken to show the same time as this one.
func newSchedules(set manifest.Set, now time.Time) []scheduleReport {
	var list []scheduleReport
	for _, s := range set.Schedules() {
		r := scheduleReport{s.Origin.File, s.Origin.Line, s.Origin.Column, s.Label, s.Field, s.Text, s.Event.String(), "", s.Origin.String()}
		if next, comes := s.Event.Next(now, now.Location()); comes {
			r.Next = next.Format(time.DateTime)
		}
		list = append(list, r)
	}
	return list
}

// String returns "jobs.yaml:4:18: BackupJob nightly: schedule 02:30: every day at 02:30, next on 2027-01-31 02:30:00".
func (s scheduleReport) String() string {
	return fmt.Sprintf("%s: %s: %s %s: %s, %s", s.place, strings.Replace(s.Object, "/", " ", 1), s.Field, s.Text, s.Words, cmp.Or(term.Prefixed("next on ", s.Next), "never again"))
}

// NewValidation returns the result for a set of manifests at a time. Problems is nil if the manifests are valid.
func NewValidation(set manifest.Set, problems *manifest.Problems, now time.Time) Validation {
	warnings := slices.Concat(set.Warnings, set.Ended(now))
	v := Validation{
		SchemaVersion: term.SchemaVersion, Valid: problems == nil, Cluster: set.Cluster.Name, Guests: len(set.Guests), Images: len(set.Images), Objects: len(set.Objects), Policies: len(set.Policies),
		Problems: []problemReport{}, Warnings: newProblemReports(warnings), warnings: warnings,
	}
	if problems != nil {
		v.Problems, v.problems = newProblemReports(problems.List), problems.List
		return v
	}
	v.Schedules = newSchedules(set, now)
	v.findings = set.Findings()
	for _, f := range v.findings {
		v.Findings = append(v.Findings, findingReport{f.Origin.File, f.Origin.Line, f.Origin.Column, f})
	}
	return v
}

// WriteText prints the warnings, the schedules, what policies say, each problem with its position, and a summary.
func (v Validation) WriteText(out io.Writer) {
	for _, w := range v.warnings {
		_, _ = fmt.Fprintln(out, term.Printable("warning: "+w.String()))
	}
	for _, s := range v.Schedules {
		_, _ = fmt.Fprintln(out, term.Printable("schedule: "+s.String()))
	}
	for _, f := range v.findings {
		_, _ = fmt.Fprintln(out, term.Printable("policy: "+f.String()))
	}
	if v.Valid {
		others := ""
		if v.Images > 0 {
			others = ", " + term.Count(v.Images, "image")
		}
		if v.Objects > 0 {
			others += ", " + term.Count(v.Objects, "other object")
		}
		if v.Policies == 1 {
			others += ", 1 policy"
		} else if v.Policies > 1 {
			others += fmt.Sprintf(", %d policies", v.Policies)
		}
		_, _ = fmt.Fprintf(out, "Cluster %s, %s%s: good\n", v.Cluster, term.Count(v.Guests, "guest"), others)
		return
	}
	for _, p := range v.problems {
		_, _ = fmt.Fprintln(out, term.Printable(p.String()))
	}
	_, _ = fmt.Fprintln(out, term.Count(len(v.problems), "problem"))
}

type problemReport struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Guest   string `json:"guest,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func newProblemReports(list []manifest.Problem) []problemReport {
	out := make([]problemReport, 0, len(list))
	for _, p := range list {
		out = append(out, problemReport{p.Origin.File, p.Origin.Line, p.Origin.Column, p.Guest, p.Field, p.Message, p.Hint})
	}
	return out
}
