package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"gitops-agent/reconcile"
)

// writeReport prints the agent's report: the revision in force, what is wrong as a whole, a line a guest, and a summary.
func writeReport(out io.Writer, r reconcile.Report) {
	p := newPalette(out)
	_, _ = fmt.Fprintf(out, "Cluster %s: %s\n", printable(r.Cluster), stateOf(r, p))
	head := table{indent: "  "}
	for _, row := range headRows(r) {
		head.add(row...)
	}
	head.write(out, p)
	if len(r.Guests) > 0 {
		_, _ = fmt.Fprintln(out)
		guests := table{}
		guests.addText("GUEST", "VMID", "NODE", "SYNC", "HEALTH", "OPERATION", "READ", "")
		for _, g := range r.Guests {
			addGuest(&guests, g, r.Time)
		}
		guests.write(out, p)
	}
	_, _ = fmt.Fprintf(out, "\n%s\n", summary(r))
}

func stateOf(r reconcile.Report, p palette) string {
	switch {
	case r.Converged:
		return p.paint(green, "converged")
	case r.Source.Accepted == nil:
		return p.paint(yellow, "no revision is accepted yet")
	default:
		return p.paint(yellow, "not converged")
	}
}

// headRows are what concerns the agent as a whole.
func headRows(r reconcile.Report) [][]cell {
	var rows [][]cell
	add := func(c colour, name, text string) {
		if text != "" {
			rows = append(rows, []cell{{text: name}, {text, c}})
		}
	}
	if a := r.Source.Accepted; a != nil {
		add(plain, "in force", fmt.Sprintf("%.10s of %s, signed by %s, proven %s", a.Commit, r.Source.Branch, a.Subject, a.ProvenTime.UTC().Format(time.RFC3339)))
		for _, w := range a.Warnings {
			add(yellow, "warning", w)
		}
	}
	if refused := r.Source.Refused; refused != nil {
		add(red, "refused", fmt.Sprintf("%.10s: %s: %s", refused.Commit, refused.Reason, refused.Error))
		add(plain, "remedy", refused.Hint)
	}
	add(red, "source", r.Source.Error)
	add(red, "proxmox", r.Proxmox.Error)
	add(yellow, "ha", r.Proxmox.HAError)
	if list := r.Proxmox.VMList; list != nil && list.Error != "" {
		add(yellow, "guest list", "not believed, every guest is read in turn: "+list.Error)
	}
	add(red, "journal", r.Journal.Error)
	if !r.Writes.Allowed && r.Source.Accepted != nil && r.Writes.Message != r.Proxmox.Error && r.Writes.Message != r.Journal.Error {
		add(yellow, "no writes", r.Writes.Message)
	}
	return rows
}

// addGuest adds a guest's row, and below it one for each further remark.
func addGuest(t *table, g reconcile.GuestReport, now time.Time) {
	notes := remarks(g)
	first := ""
	if len(notes) > 0 {
		first, notes = notes[0], notes[1:]
	}
	vmid := "-"
	if g.VMID != 0 {
		vmid = strconv.Itoa(g.VMID)
	}
	t.add(cell{text: g.Label()}, cell{text: vmid}, cell{text: dash(g.Node)}, cell{string(g.Sync), syncColour(g.Sync)},
		cell{string(g.Health), healthColour(g.Health)}, cell{text: string(g.Operation)}, readAge(g, now), cell{text: first})
	for _, note := range notes {
		t.addText("", "", "", "", "", "", "", note)
	}
}

// remarks are what a person should know of a guest: what is held with its way out, and what went wrong.
func remarks(g reconcile.GuestReport) []string {
	var notes []string
	for _, h := range g.Held {
		notes = append(notes, fmt.Sprintf("held %s (%s): %s", h.Op, h.Reason, h.Message))
		if h.Hint != "" {
			notes = append(notes, h.Hint)
		}
	}
	for _, c := range g.Conditions {
		switch c.Type {
		case reconcile.Held, reconcile.Drifted, reconcile.Orphaned: // said above, and by the sync column
		case reconcile.Blocked, reconcile.Failed, reconcile.IdentityConflict, reconcile.NotObserved, reconcile.PendingRestart, reconcile.Suspended,
			reconcile.WaitsFor, reconcile.Leftover, reconcile.Warned:
			notes = append(notes, string(c.Type)+": "+c.Message)
			if c.Hint != "" {
				notes = append(notes, c.Hint)
			}
		}
	}
	return notes
}

// readAge says how long ago the guest was read in full, as the report was made.
func readAge(g reconcile.GuestReport, now time.Time) cell {
	if g.ObservedAt.IsZero() {
		return cell{text: "never"}
	}
	c := cell{text: max(now.Sub(g.ObservedAt), 0).Round(time.Second).String() + " ago"}
	if g.Stale {
		c.text, c.paint = c.text+" (old)", yellow
	}
	return c
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func syncColour(s reconcile.Sync) colour {
	switch s {
	case reconcile.Synced:
		return green
	case reconcile.OutOfSync:
		return yellow
	case reconcile.SyncUnknown:
		return red
	}
	return plain
}

func healthColour(h reconcile.Health) colour {
	switch h {
	case reconcile.Healthy:
		return green
	case reconcile.Progressing, reconcile.HealthSuspended, reconcile.Missing:
		return yellow
	case reconcile.Degraded:
		return red
	}
	return plain
}

func summary(r reconcile.Report) string {
	synced := 0
	for _, g := range r.Guests {
		if g.Sync == reconcile.Synced {
			synced++
		}
	}
	text := fmt.Sprintf("%s: %d in sync, %d not", counted(len(r.Guests), "guest"), synced, len(r.Guests)-synced)
	held := slices.ContainsFunc(r.Guests, func(g reconcile.GuestReport) bool { return len(g.Held) > 0 })
	if held {
		text += ", some of them held"
	}
	return text + fmt.Sprintf("; %d unmanaged", len(r.Unmanaged))
}
