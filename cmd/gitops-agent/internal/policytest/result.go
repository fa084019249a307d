package policytest

import (
	"fmt"
	"io"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/policy"
)

// Result is the outcome of one table.
type Result struct {
	File     string       `json:"file"`
	Policies int          `json:"policies"` // that the table tests
	Cases    []CaseResult `json:"cases"`
}

// CaseResult is the outcome of one case.
type CaseResult struct {
	Name     string           `json:"name"`
	Passed   bool             `json:"passed"`
	Found    []policy.Finding `json:"found"`              // what the policies say
	Problems []string         `json:"problems,omitempty"` // how that differs from what the case wants
}

// Failed returns the number of cases that did not pass.
func (r Result) Failed() int {
	n := 0
	for _, c := range r.Cases {
		if !c.Passed {
			n++
		}
	}
	return n
}

// WriteText prints the cases that did not pass, and a summary.
func (r Result) WriteText(out io.Writer) {
	for _, c := range r.Cases {
		for _, problem := range c.Problems {
			_, _ = fmt.Fprintf(out, "%s: %s: %s\n", term.Printable(r.File), term.Printable(c.Name), term.Printable(problem))
		}
	}
	_, _ = fmt.Fprintf(out, "%s: %d of %s passed\n", term.Printable(r.File), len(r.Cases)-r.Failed(), term.Count(len(r.Cases), "case"))
}
