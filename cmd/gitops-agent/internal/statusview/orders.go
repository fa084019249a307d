package statusview

import (
	"slices"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// ordersTable lists one-shot operations, with what a person should know of each below it.
func ordersTable(orders []report.Order, now time.Time) term.Table {
	t := term.Table{Indent: "  "}
	if len(orders) == 0 {
		return t
	}
	t.AddText("ORDER", "STATE", "SINCE", "SIGNER", "COMMIT", "")
	for _, o := range orders {
		notes := orderNotes(o)
		first := ""
		if len(notes) > 0 {
			first, notes = notes[0], notes[1:]
		}
		t.Add(term.Cell{Text: o.Order}, term.Cell{Text: o.Word(), Colour: orderColour(o)}, term.Cell{Text: span(max(now.Sub(o.Changed), 0)) + " ago"}, term.Cell{Text: dash(o.Signer)},
			term.Cell{Text: o.Commit[:min(len(o.Commit), shortCommit)]}, term.Cell{Text: first})
		for _, note := range notes {
			t.AddText("", "", "", "", "", note)
		}
	}
	return t
}

const shortCommit = 10 // digits

// orderNotes returns why an order is as it is, what remains to be done, what it made, and its task. The last lines of a task that did not succeed follow.
func orderNotes(o report.Order) []string {
	notes := nonEmptyLines(o.Why)
	if o.Hint != "" {
		notes = append(notes, o.Hint)
	}
	if o.Volume != "" {
		notes = append(notes, "backup "+o.Volume)
	}
	if o.UPID != "" {
		notes = append(notes, "task "+o.UPID)
	}
	if o.State == journal.OrderRun {
		return notes
	}
	for _, line := range nonEmptyLines(o.Log) {
		if !strings.Contains(o.Why, line) { // the reason of a failed task contains its error
			notes = append(notes, "| "+line)
		}
	}
	return notes
}

func nonEmptyLines(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
}

func orderColour(o report.Order) term.Colour {
	switch o.State {
	case journal.OrderRun:
		return term.Green
	case journal.OrderFailed, journal.OrderUnknown:
		return term.Red
	case journal.OrderRefused, journal.OrderExpired:
		return term.Yellow
	case journal.OrderSeen, journal.OrderReleased:
	}
	if o.Why != "" {
		return term.Yellow
	}
	return term.Plain
}
