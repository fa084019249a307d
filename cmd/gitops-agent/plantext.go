package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gitops-agent/reconcile"
)

// planText prints a plan for a terminal: a block a guest, the summary last, where the reader looks first.
type planText struct {
	out io.Writer
	palette
	width int  // runes of a line of columns
	wraps bool // prose is broken there too, as a terminal would in the middle of words
}

func writePlanText(out io.Writer, d planDocument) {
	planText{out, newPalette(out), widthOf(out), isTerminal(out)}.write(d)
}

func (t planText) write(d planDocument) {
	t.line(plain, "", d.heading())
	for _, g := range d.Guests {
		_, _ = fmt.Fprintln(t.out)
		t.writeGuest(g)
	}
	_, _ = fmt.Fprintln(t.out)
	t.line(bold, "", d.Summary.String())
}

func (t planText) writeGuest(g plannedView) {
	t.writeHead(g)
	t.writeChanges(g)
	for _, s := range g.Steps {
		t.writeStep(s)
	}
	for _, h := range g.holds() {
		colour := yellow
		if h.reason == reconcile.HoldWaits {
			colour = plain
		}
		t.line(colour, "    ", h.String())
		t.line(bold, "      ", h.hint)
		t.writeVolumes(h.volumes)
	}
	for _, c := range g.remarks() {
		colour := red
		if c.Type == reconcile.PendingRestart {
			colour = yellow
		}
		t.line(colour, "    ", string(c.Type)+" ("+c.Reason+"): "+c.Message)
		t.line(plain, "      ", c.Hint)
	}
}

// writeHead prints the guest's name, and beside it, where there is room, who asked for it and how old its reading is.
func (t planText) writeHead(g plannedView) {
	head, aside := t.paint(g.Action.colour(), g.Action.symbol())+" "+t.paint(bold, printable(g.label())), g.Origin
	if age := g.read(); age != "" {
		aside = strings.TrimPrefix(aside+"  "+age, "  ")
	}
	if room := t.width - utf8.RuneCountInString("~ "+g.label()+"  "); t.wraps && utf8.RuneCountInString(aside) > room {
		_, _ = fmt.Fprintln(t.out, head)
		t.line(faint, "    ", aside)
		return
	}
	_, _ = fmt.Fprintln(t.out, head+labelled("  ", t.paint(faint, printable(aside))))
}

// writeStep prints what a step does that nothing holds, beyond the changes above it.
func (t planText) writeStep(s stepView) {
	switch {
	case s.Held != "" || s.obvious():
		return
	case s.Adopts:
		t.line(plain, "    ", "adopt  the guest becomes this agent's")
	default:
		t.line(plain, "    ", s.what()+"  "+s.why())
	}
	t.writeVolumes(s.Volumes)
}

func (t planText) writeVolumes(volumes []string) {
	for _, v := range volumes {
		t.line(red, "      ", "destroys "+v)
	}
}

// line prints text behind an indent, in as many lines as its words need.
func (t planText) line(c colour, indent, text string) {
	if text == "" {
		return
	}
	lines := []string{printable(text)}
	if t.wraps {
		lines = wrapped(lines[0], t.width-utf8.RuneCountInString(indent))
	}
	for i, part := range lines {
		if i > 0 {
			part = continued + part
		}
		_, _ = fmt.Fprintln(t.out, indent+t.paint(c, part))
	}
}
