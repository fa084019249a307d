package planview

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/plan"
)

// textPrinter prints a plan for a terminal: a block per guest, and the summary as the last line, where the reader looks first.
type textPrinter struct {
	out io.Writer
	term.Palette
	width int  // runes of a line of columns
	wraps bool // also break prose between words, because a terminal would break it within words
}

// WriteText prints a plan for a terminal, or for a file if out is not one.
func WriteText(out io.Writer, d Document) {
	textPrinter{out, term.NewPalette(out), term.Width(out), term.IsTerminal(out)}.write(d)
}

func (t textPrinter) write(d Document) {
	t.line(term.Plain, "", d.heading())
	t.line(term.Plain, "", d.Ownership.note())
	for _, g := range d.blocks() {
		_, _ = fmt.Fprintln(t.out)
		t.writeGuest(g)
	}
	if len(d.Rollouts) > 0 {
		_, _ = fmt.Fprintln(t.out)
	}
	for _, r := range d.Rollouts {
		t.line(term.Plain, "", r.String())
	}
	if len(d.Problems)+len(d.Notes) > 0 {
		_, _ = fmt.Fprintln(t.out)
	}
	t.writeProblems(d.Problems)
	t.writeNotes(d.Notes)
	_, _ = fmt.Fprintln(t.out)
	t.line(term.Bold, "", d.Summary.String())
}

func (t textPrinter) writeGuest(g guestView) {
	t.writeHead(g)
	t.line(term.Plain, "    ", g.choice())
	t.writeChanges(g)
	for _, s := range g.Steps {
		t.writeStep(s)
	}
	for _, h := range g.holds() {
		colour := term.Yellow
		if h.Reason.IsOrder() {
			colour = term.Plain
		}
		t.line(colour, "    ", h.String())
		t.line(term.Bold, "      ", h.Hint)
		for _, u := range h.Uncounted {
			t.line(term.Plain, "      ", u.Message)
		}
		t.writeVolumes(h.volumes)
	}
	for _, c := range g.remarks() {
		colour := term.Red
		switch c.Type {
		case plan.PendingRestart:
			colour = term.Yellow
		case plan.WaitsFor:
			colour = term.Plain
		}
		t.line(colour, "    ", string(c.Type)+" ("+string(c.Reason)+"): "+c.Message)
		t.line(term.Plain, "      ", c.Hint)
	}
}

// writeHead prints the guest's name, its manifest line and the age of its observation, on one line if they fit.
func (t textPrinter) writeHead(g guestView) {
	head, aside := t.Paint(g.Action.colour(), g.Action.symbol())+" "+t.Paint(term.Bold, term.Printable(g.label())), g.Origin
	if age := g.read(); age != "" {
		aside = strings.TrimPrefix(aside+"  "+age, "  ")
	}
	if room := t.width - utf8.RuneCountInString("~ "+g.label()+"  "); t.wraps && utf8.RuneCountInString(aside) > room {
		_, _ = fmt.Fprintln(t.out, head)
		t.line(term.Faint, "    ", aside)
		return
	}
	_, _ = fmt.Fprintln(t.out, head+term.Prefixed("  ", t.Paint(term.Faint, term.Printable(aside))))
}

// writeStep prints a step that is not held, unless its changes already describe it.
func (t textPrinter) writeStep(s stepView) {
	switch {
	case s.Held != nil || s.obvious():
		return
	case s.Adopts:
		t.line(term.Plain, "    ", "adopt  this agent takes ownership of the guest")
	default:
		t.line(term.Plain, "    ", s.what()+"  "+s.why())
	}
	t.writeVolumes(s.Volumes)
}

func (t textPrinter) writeVolumes(volumes []string) {
	for _, v := range volumes {
		t.line(term.Red, "      ", "destroys "+v)
	}
}

// line prints text after an indent, broken into several lines if necessary. It prints nothing if text is empty.
func (t textPrinter) line(c term.Colour, indent, text string) {
	if text == "" {
		return
	}
	lines := []string{term.Printable(text)}
	if t.wraps {
		lines = term.Wrap(lines[0], t.width-utf8.RuneCountInString(indent))
	}
	for i, part := range lines {
		if i > 0 {
			part = term.ContinuationIndent + part
		}
		_, _ = fmt.Fprintln(t.out, indent+t.Paint(c, part))
	}
}
