package main

import (
	"cmp"
	"fmt"
	"io"

	"gitops-agent/reconcile"
)

// maxShownValue bounds a value in a text plan; -o json has it whole.
const maxShownValue = 60 // runes

// writePlanText prints a plan for a terminal: a block a guest, the summary last, where the reader looks first.
func writePlanText(out io.Writer, d planDocument, p palette) {
	_, _ = fmt.Fprintln(out, printable(d.heading()))
	for _, g := range d.Guests {
		_, _ = fmt.Fprintf(out, "\n%s %s%s\n", p.paint(g.Action.colour(), g.Action.symbol()), p.paint(bold, printable(g.label())), labelled("  ", p.paint(faint, printable(g.Origin))))
		writeChanges(out, g, p)
		for _, s := range g.Steps {
			writeStep(out, s, p)
		}
		for _, c := range g.Conditions {
			if c.Type == reconcile.Orphaned { // the destroy step says so
				continue
			}
			writeRemark(out, p, string(c.Type)+" ("+c.Reason+"): "+c.Message, c.Hint)
		}
	}
	_, _ = fmt.Fprintf(out, "\n%s\n", p.paint(bold, d.Summary.String()))
}

func writeChanges(out io.Writer, g plannedView, p palette) {
	t := table{indent: "    "}
	for _, c := range g.Changes {
		if g.Action == actionCreate { // from nothing, and without effect on anything
			t.add(cell{text: c.Key}, cell{text: shownValue(c.To)}, cell{c.Origin, faint})
			continue
		}
		t.add(cell{text: c.Key}, cell{text: shownValue(c.From) + " → " + shownValue(c.To)}, cell{text: c.effect()}, cell{c.Origin, faint})
	}
	t.write(out, p)
}

func shownValue(text string) string { return shortened(cmp.Or(text, "(unset)"), maxShownValue) }

// writeStep prints what a step does beyond the changes above it, and what holds it.
func writeStep(out io.Writer, s stepView, p palette) {
	switch {
	case s.waits():
		_, _ = fmt.Fprintf(out, "    %s  waits: %s\n", s.Op, printable(s.Message))
		return
	case s.Held != "":
		writeRemark(out, p, fmt.Sprintf("held %s (%s): %s", s.what(), s.Held, s.Message), s.Hint)
	case s.Adopts:
		_, _ = fmt.Fprintln(out, "    adopt  the guest becomes this agent's")
	case s.Op != reconcile.OpConfig && s.Op != reconcile.OpResize && s.Op != reconcile.OpCreate:
		_, _ = fmt.Fprintf(out, "    %s  %s\n", s.Op, printable(s.Reason))
	case s.Digest != "":
		_, _ = fmt.Fprintf(out, "    %s  approved\n", s.what())
	}
	for _, v := range s.Volumes {
		_, _ = fmt.Fprintf(out, "      destroys %s\n", printable(v))
	}
}

func writeRemark(out io.Writer, p palette, text, hint string) {
	_, _ = fmt.Fprintf(out, "    %s\n", p.paint(yellow, printable(text)))
	if hint != "" {
		_, _ = fmt.Fprintf(out, "      %s\n", printable(hint))
	}
}
