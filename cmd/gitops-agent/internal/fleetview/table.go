package fleetview

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/fleet"
	"gitops-agent/internal/status/words"
)

// maxProblem bounds a problem in the table. The JSON and the status of the agent have all of it.
const maxProblem = 120 // runes

// WriteTable prints one line for each cluster, the problem of a cluster below it, and a summary.
func WriteTable(out io.Writer, rows []fleet.Row, now time.Time) {
	p := term.NewPalette(out)
	table := term.Table{}
	table.AddText("CLUSTER", "STATE", "REVISION", "LAG", "DRIFTED", "HELD", "GUESTS", "REPORT", "TARGET")
	for _, r := range rows {
		table.Add(
			term.Cell{Text: cmp.Or(r.Cluster, "unknown")}, term.Cell{Text: string(r.State), Colour: colourOf(r.State)}, term.Cell{Text: cmp.Or(r.Revision(), "none")},
			term.Cell{Text: since(r.BehindSince, now)}, count(r, r.Drifted), count(r, r.Held), count(r, r.Guests), term.Cell{Text: ago(r.Time, now)}, term.Cell{Text: r.Target},
		)
	}
	table.Write(out, p)
	problems := term.Table{Indent: "  "}
	for _, r := range rows {
		if r.Problem != "" {
			problems.Add(term.Cell{Text: cmp.Or(r.Cluster, r.Target)}, term.Cell{Text: term.Shorten(r.Problem, maxProblem), Colour: colourOf(r.State)})
		}
	}
	if !problems.Empty() {
		_, _ = fmt.Fprintln(out, "\nProblems:")
		problems.Write(out, p)
	}
	_, _ = fmt.Fprintf(out, "\n%s\n", Summary(rows))
}

// Summary returns "3 clusters: 1 held, 2 converged".
func Summary(rows []fleet.Row) string {
	counts := fleet.Counts(rows)
	var list []string
	for _, state := range fleet.States() {
		if counts[state] > 0 {
			list = append(list, strconv.Itoa(counts[state])+" "+string(state))
		}
	}
	return term.Count(len(rows), "cluster") + ": " + strings.Join(list, ", ")
}

func colourOf(state fleet.State) term.Colour {
	switch {
	case state.IsFailure():
		return term.Red
	case state == fleet.Converged:
		return term.Green
	}
	return term.Yellow
}

// count is empty for a cluster whose agent does not answer.
func count(r fleet.Row, n int) term.Cell {
	if r.State == fleet.Unreachable {
		return term.Cell{}
	}
	return term.Cell{Text: strconv.Itoa(n)}
}

func since(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	return words.Span(now.Sub(at))
}

func ago(at, now time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return words.Span(now.Sub(at)) + " ago"
}
