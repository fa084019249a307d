package planview

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/preflight"
)

// maxCauses is the number of causes of a problem that text and Markdown name; JSON names all.
const maxCauses = 3

// A Problem is something that manifests need and the cluster does not have, so that steps of the plan would fail.
type Problem struct {
	Check     string            `json:"check"`             // node, storage, pool, template, bridge, volume, cpu, tags, privilege, or what could not be read
	Subject   string            `json:"subject,omitempty"` // its name
	Message   string            `json:"message"`
	Hint      string            `json:"hint,omitempty"`
	Unchecked bool              `json:"unchecked,omitempty"` // possibly no problem: it could not be checked
	Warning   bool              `json:"warning,omitempty"`   // possibly no problem when the plan is carried out: it may change until then
	For       []preflight.Cause `json:"for,omitempty"`
}

// NewProblems returns what is missing as problems. Keys that only root@pam may write are not among them: they are conditions of the plan.
func NewProblems(unresolved []preflight.Unresolved, missing []preflight.MissingPrivilege) []Problem {
	var list []Problem
	for _, u := range unresolved {
		list = append(list, Problem{Check: u.What, Subject: u.Name, Message: u.Problem, Hint: u.Hint, Unchecked: u.Unchecked, Warning: u.Warning, For: u.For})
	}
	first := len(list)
	for _, m := range missing {
		if m.Privilege == guest.RootPAM {
			continue
		}
		subject := m.Privilege + term.Prefixed(" or ", m.Or) + " on " + m.Entry
		i := slices.IndexFunc(list[first:], func(p Problem) bool { return p.Subject == subject })
		if i >= 0 { // one entry of the access control list provides it for all guests
			list[first+i].For = slices.Concat(list[first+i].For, m.For)
			continue
		}
		list = append(list, Problem{
			Check: "privilege", Subject: subject, Message: "the token of the agent does not have it",
			Hint: "gitops-agent config check --cluster prints the commands that grant it", For: m.For,
		})
	}
	return list
}

// Err returns an error if something would prevent steps of the plan.
func (d Document) Err() error {
	if d.Summary.Problems == 0 {
		return nil
	}
	return errors.New(term.Count(d.Summary.Problems, "problem") + " would stop the agent: see the plan")
}

// SetProblems adds problems to the document.
func (d *Document) SetProblems(problems []Problem) {
	d.Problems, d.Summary.Problems = problems, 0
	for _, p := range problems {
		if !p.Unchecked && !p.Warning {
			d.Summary.Problems++
		}
	}
}

// String returns "bridge vmbr7: is not among the bridges and virtual networks of pve1".
func (p Problem) String() string {
	return p.Check + term.Prefixed(" ", p.Subject) + ": " + p.Message
}

// word tells a problem from something that could not be checked.
func (p Problem) word() string {
	switch {
	case p.Unchecked:
		return "unchecked"
	case p.Warning:
		return "warning"
	}
	return "problem"
}

// causes returns the first causes, and the number of the others.
func (p Problem) causes() []string {
	var list []string
	for i, c := range p.For {
		if i == maxCauses {
			return append(list, fmt.Sprintf("%d more", len(p.For)-i))
		}
		list = append(list, c.String())
	}
	return list
}

// writeProblems prints what would stop the plan, after the guests.
func (t textPrinter) writeProblems(problems []Problem) {
	for _, p := range problems {
		colour := term.Red
		if p.Unchecked || p.Warning {
			colour = term.Yellow
		}
		t.line(colour, "", p.word()+": "+p.String())
		t.line(term.Bold, "    ", p.Hint)
		for _, c := range p.causes() {
			t.line(term.Faint, "    ", "for "+c)
		}
	}
}

// writeMarkdownProblems prints what would stop the plan, before the guests.
func writeMarkdownProblems(b *bytes.Buffer, problems []Problem) {
	if len(problems) > 0 {
		b.WriteString("\n")
	}
	for i, p := range problems {
		if i == maxProblems {
			fmt.Fprintf(b, "- and %d more\n", len(problems)-i)
			break
		}
		fmt.Fprintf(b, "- **%s**: %s %s: %s%s", p.word(), markdownText(p.Check), markdownCode(p.Subject), markdownText(p.Message), term.Prefixed(" — ", markdownText(p.Hint)))
		for _, c := range p.causes() {
			fmt.Fprintf(b, "\n  - %s", markdownCode(c))
		}
		b.WriteString("\n")
	}
}
