package statusview

import (
	"fmt"
	"io"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/history"
	"gitops-agent/reconcile/report"
)

// WriteGuest prints one guest in full, as its page does: its states, what it waits for, its differences, its configuration and its history.
func WriteGuest(out io.Writer, d report.GuestDocument) {
	p := term.NewPalette(out)
	g := d.Guest
	_, _ = fmt.Fprintln(out, term.Printable(g.Label()))
	head := term.Table{Indent: "  "}
	for _, row := range guestRows(d) {
		head.Add(row...)
	}
	head.Write(out, p)
	section := func(title string, t term.Table) {
		if !t.Empty() {
			_, _ = fmt.Fprintf(out, "\n%s\n", title)
			t.Write(out, p)
		}
	}
	section("Differences:", changesTable(g.Changes))
	managed, others := valuesTables(d.Values)
	section("Configuration:", managed)
	section("Keys that the manifest does not manage:", others)
	section("Orders:", ordersTable(d.Orders, d.Time))
	section("History:", historyTable(d.History, d.Time))
}

// guestRows returns the states of a guest, and what a person should know.
func guestRows(d report.GuestDocument) [][]term.Cell {
	g := d.Guest
	var rows [][]term.Cell
	add := func(c term.Colour, name, text string) {
		if text != "" {
			rows = append(rows, []term.Cell{{Text: name}, {Text: text, Colour: c}})
		}
	}
	vmid := "not assigned"
	if g.VMID != 0 {
		vmid = fmt.Sprint(g.VMID)
	}
	add(term.Plain, "vmid", vmid)
	add(term.Plain, "node", g.Node)
	add(term.Plain, "chosen as", g.WhyNode)
	sync, colour := string(g.Sync), syncColour(g.Sync)
	if except := g.Except(); except != nil {
		sync, colour = sync+" "+except.String(), term.Yellow
	}
	if !g.DriftSince.IsZero() {
		sync += ", drifted for " + span(d.Time.Sub(g.DriftSince))
	}
	add(colour, "sync", sync)
	add(healthColour(g.Health), "health", string(g.Health))
	add(term.Plain, "operation", g.OperationText())
	add(term.Plain, "status", string(g.Status))
	read := readAge(g, d.Time)
	add(read.Colour, "read", read.Text)
	if !g.Converged.IsZero() {
		text := span(d.Time.Sub(g.Converged)) + " ago"
		if g.Revision != "" {
			text += " with " + g.Revision
		}
		add(term.Plain, "in sync", text)
	}
	if s := g.Snapshots; s != nil {
		colour := term.Plain
		if !s.LateSince.IsZero() {
			colour = term.Yellow
		}
		add(colour, "snapshots", snapshotsText(*s, d.Time))
	}
	for _, s := range g.Schedules {
		text, colour := s.Words+", never again", term.Yellow
		if !s.Next.IsZero() {
			text, colour = s.Words+", next in "+span(s.Next.Sub(d.Time)), term.Plain
		}
		add(colour, s.Field, text)
	}
	add(term.Plain, "tags", strings.Join(g.Tags, ", "))
	if g.IsOrphaned() {
		add(term.Yellow, "orphaned", "the agent owns this guest, but no manifest names it")
	}
	for _, note := range remarks(g) {
		add(term.Yellow, "note", note)
	}
	if !g.NextTry.IsZero() {
		add(term.Plain, "next try", fmt.Sprintf("in %s; at once: gitops-agent retry %s", span(g.NextTry.Sub(d.Time)), g.Label()))
	}
	for _, n := range d.Needs {
		add(term.Plain, "depends on", neighbourText(n))
	}
	for _, n := range d.NeededBy {
		add(term.Plain, "needed by", neighbourText(n))
	}
	return rows
}

// snapshotsText returns how many snapshots by the schedule there are, how old the newest one is, and for how long one is missing.
func snapshotsText(s report.Snapshots, now time.Time) string {
	text := fmt.Sprintf("%d by the schedule %s", s.Taken, s.Schedule)
	if !s.Newest.IsZero() {
		text += ", the newest " + span(now.Sub(s.Newest)) + " ago"
	}
	if !s.LateSince.IsZero() {
		text += ", late for " + span(now.Sub(s.LateSince))
	}
	return text
}

func neighbourText(n report.Neighbour) string {
	if n.Sync == "" {
		return n.Guest + " (not managed)"
	}
	return fmt.Sprintf("%s (%s, %s)", n.Guest, n.Sync, n.Health)
}

func changesTable(changes []report.Change) term.Table {
	t := term.Table{Indent: "  "}
	if len(changes) == 0 {
		return t
	}
	t.AddText("KEY", "FROM", "TO", "CLASS", "REQUESTED BY")
	for _, c := range changes {
		class := string(c.Class)
		if c.Note != "" {
			class += " (" + c.Note + ")"
		}
		t.AddText(c.Key, dash(c.From), dash(c.To), class, dash(c.Origin))
	}
	return t
}

// valuesTables returns the keys that the manifest manages or that differ, and the others.
func valuesTables(values []report.Value) (managed, others term.Table) {
	managed, others = term.Table{Indent: "  "}, term.Table{Indent: "  "}
	for _, v := range values {
		live := dash(v.Live)
		if v.Waits {
			live += " (after the next start: " + dash(v.Next) + ")"
		}
		if v.Desired == "" && !v.Absent && !v.Differs {
			others.AddText(v.Key, live)
			continue
		}
		if managed.Empty() {
			managed.AddText("KEY", "MANIFEST", "LIVE", "REQUESTED BY")
		}
		wanted := dash(v.Desired)
		if v.Absent {
			wanted = "absent"
		}
		colour := term.Plain
		if v.Differs {
			colour = term.Yellow
		}
		managed.Add(term.Cell{Text: v.Key, Colour: colour}, term.Cell{Text: wanted}, term.Cell{Text: live}, term.Cell{Text: dash(v.Origin)})
	}
	return managed, others
}

func historyTable(entries []history.Entry, now time.Time) term.Table {
	t := term.Table{Indent: "  "}
	if len(entries) == 0 {
		return t
	}
	t.AddText("TIME", "WHAT", "RESULT", "COMMIT", "SIGNED BY", "")
	for _, e := range entries {
		result := "event"
		switch {
		case e.Running():
			result = "running for " + span(now.Sub(e.Time))
		case e.Step != "":
			result = fmt.Sprintf("%s in %s", e.Result, span(e.Ended.Sub(e.Time)))
		}
		notes := e.Tasks
		if e.Text != "" {
			notes = append([]string{e.Text}, notes...)
		}
		if e.Released != "" {
			notes = append([]string{"released by " + e.Released}, notes...)
		}
		commit := e.Revision[strings.LastIndex(e.Revision, ":")+1:]
		t.AddText(e.Time.UTC().Format(time.RFC3339), strings.ReplaceAll(e.Name, "-", " "), result, fmt.Sprintf("%.10s", dash(commit)), dash(e.Signer), strings.Join(notes, "; "))
	}
	return t
}

// span returns a duration in seconds: "1m30s".
func span(d time.Duration) string { return max(d, 0).Round(time.Second).String() }
