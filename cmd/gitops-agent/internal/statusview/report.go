package statusview

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/selection"
)

// WriteReport prints the agent's report: the revision in force, problems of the agent as a whole, one line per selected guest, and a summary of all guests.
func WriteReport(out io.Writer, r report.Report, s selection.Selection) {
	p := term.NewPalette(out)
	WriteHead(out, r)
	s.Group = cmp.Or(s.Group, selection.Ungrouped)
	selected := 0
	for _, group := range s.Apply(r.Guests) {
		_, _ = fmt.Fprintln(out)
		if s.Group != selection.Ungrouped {
			_, _ = fmt.Fprintf(out, "%s: %s\n", cmp.Or(term.Printable(group.Key), "none"), term.Count(len(group.Guests), "guest"))
		}
		selected += len(group.Guests)
		guests := term.Table{}
		guests.AddText("GUEST", "VMID", "NODE", "SYNC", "HEALTH", "OPERATION", "READ", "")
		for _, g := range group.Guests {
			addGuest(&guests, g, r.Time)
		}
		guests.Write(out, p)
	}
	if rollouts := rolloutsTable(r.Rollouts, r.Time); !rollouts.Empty() && !s.IsFilter() {
		_, _ = fmt.Fprintln(out, "\nRollouts:")
		rollouts.Write(out, p)
	}
	if orders := ordersTable(r.Orders, r.Time); !orders.Empty() && !s.IsFilter() {
		_, _ = fmt.Fprintln(out, "\nOrders:")
		orders.Write(out, p)
	}
	_, _ = fmt.Fprintln(out)
	if s.IsFilter() {
		_, _ = fmt.Fprintf(out, "%d of %s selected\n", selected, size(r))
	}
	_, _ = fmt.Fprintln(out, summary(r))
}

// WriteHead prints whether the cluster is converged, the revision in force, and problems of the agent as a whole.
func WriteHead(out io.Writer, r report.Report) {
	p := term.NewPalette(out)
	_, _ = fmt.Fprintf(out, "Cluster %s: %s\n", term.Printable(r.Cluster), stateOf(r, p))
	head := term.Table{Indent: "  "}
	for _, row := range headRows(r) {
		head.Add(row...)
	}
	head.Write(out, p)
}

// Select returns the document with the selected guests only, in the order of the selection, as JSON.
func Select(document report.Document, s selection.Selection) ([]byte, error) {
	guests := []report.Guest{}
	s.Group = cmp.Or(s.Group, selection.Ungrouped)
	for _, group := range s.Apply(document.Guests) {
		guests = append(guests, group.Guests...)
	}
	document.Guests = guests
	body, err := json.MarshalIndent(document, "", "  ")
	return append(body, '\n'), err
}

// stateOf returns whether the cluster is converged, in colour.
func stateOf(r report.Report, p term.Palette) string {
	switch {
	case r.Converged && r.Except != nil:
		return p.Paint(term.Yellow, "converged "+r.Except.String())
	case r.Converged:
		return p.Paint(term.Green, "converged")
	case r.Source.Accepted == nil:
		return p.Paint(term.Yellow, r.NoneInForce())
	default:
		return p.Paint(term.Yellow, "not converged")
	}
}

// headRows returns the rows about the agent as a whole.
func headRows(r report.Report) [][]term.Cell {
	var rows [][]term.Cell
	add := func(c term.Colour, name, text string) {
		if text != "" {
			rows = append(rows, []term.Cell{{Text: name}, {Text: text, Colour: c}})
		}
	}
	if a := r.Source.Accepted; a != nil {
		name := "in force"
		if r.AcceptedNotInForce() {
			name = "accepted"
		}
		add(term.Plain, name, fmt.Sprintf("%.10s of %s, signed by %s, proven %s", a.Commit, r.Source.Branch, a.Subject, a.ProvenTime.UTC().Format(time.RFC3339)))
		for _, w := range a.Warnings {
			add(term.Yellow, "warning", w)
		}
	}
	if refused := r.Source.Refused; refused != nil {
		add(term.Red, "refused", fmt.Sprintf("%.10s: %s: %s", refused.Commit, refused.Reason, refused.Error))
		add(term.Plain, "remedy", refused.Hint)
	}
	if waiting := r.Source.Waiting; waiting != nil {
		add(term.Yellow, "waiting", fmt.Sprintf("%.10s: %s: %s", waiting.Commit, waiting.Reason, waiting.Text()))
		add(term.Plain, "remedy", waiting.Hint)
	}
	if ahead := r.Source.Ahead; ahead != nil {
		add(term.Yellow, "ahead", ahead.Text())
		add(term.Plain, "remedy", ahead.Hint)
	}
	if head := r.Source.Checking(); head != "" {
		add(term.Plain, "checking", fmt.Sprintf("%.10s, fetched at %s", head, r.Source.HeadSeen.UTC().Format(time.RFC3339)))
	}
	if r.Source.RootExpired {
		add(term.Red, "trusted root", "expired at "+r.Source.RootExpires.UTC().Format(time.RFC3339)+", so no new signature can be verified")
	}
	if r.Source.RootError != "" {
		add(term.Yellow, "trusted root", "the previous one stays in force: "+r.Source.RootError)
	}
	add(term.Red, "source", withReason(string(r.Source.Reason), r.Source.Error))
	if r.Source.Error != "" {
		add(term.Plain, "remedy", reason.Outage(reason.Source, string(r.Source.Reason)).Remedy.Text)
	}
	for _, remote := range r.Source.Remotes {
		if remote.Error != "" && remote.State != report.RemoteAnswers {
			add(term.Yellow, "remote", fmt.Sprintf("%s (%s): %s", remote.URL, remote.State, remote.Error))
		}
	}
	add(term.Red, "proxmox", withReason(string(r.Proxmox.Reason), r.Proxmox.Error))
	for _, e := range r.Proxmox.Endpoints {
		if e.State == cluster.EndpointDown {
			add(term.Yellow, "endpoint", fmt.Sprintf("%s is down (%s): %s", e.Address, e.Fault, e.Error))
		}
		if e.ClockDiffers() {
			add(term.Yellow, "clock", e.ClockText())
		}
	}
	for _, late := range r.Late {
		add(term.Yellow, "late", late.Text(r.Time))
	}
	add(term.Yellow, "ha", r.Proxmox.HAError)
	if list := r.Proxmox.VMList; list != nil && list.Error != "" {
		add(term.Yellow, "guest list", "not used, every guest is read in turn: "+list.Error)
	}
	add(term.Red, "journal", withReason(string(r.Journal.Reason), r.Journal.Error))
	if lost := r.Recovery; lost != nil {
		add(term.Yellow, "lost", fmt.Sprintf("%s with a marker and without a record: gitops-agent recover", term.Count(len(lost.Guests), "guest")))
	}
	if among := r.Replica; among != nil {
		text := string(among.Role) + " " + among.Name
		if among.Role == report.RoleStandby {
			text += ", " + among.WhoLeads()
		}
		add(term.Plain, "replica", text)
	}
	if p := r.Writes.Paused; p != nil {
		add(term.Yellow, "paused", p.String())
	}
	if g := r.Guards; g != nil {
		for _, text := range g.Minimum {
			add(term.Plain, "minimum", text+", set by this host")
		}
		for _, h := range g.Held {
			add(term.Yellow, "held", h.Message)
			add(term.Plain, "remedy", h.Hint)
			for _, u := range h.Uncounted {
				add(term.Yellow, "uncounted", u.Message)
			}
		}
	}
	unread := slices.Contains([]reason.Stop{reason.StopUnchecked, reason.StopPolicy}, r.Writes.Reason)
	if !r.Writes.Allowed && (r.Source.Accepted != nil || unread) && !r.Writes.Reason.Row().Told {
		add(term.Yellow, "no writes", r.Writes.Message)
	}
	return rows
}

// withReason returns an error with its reason, "" without an error.
func withReason(reason, text string) string {
	if reason == "" || text == "" {
		return text // an older agent has no reasons
	}
	return reason + ": " + text
}

// addGuest adds a row for a guest, and below it one for each further remark.
func addGuest(t *term.Table, g report.Guest, now time.Time) {
	notes := remarks(g)
	if !g.NextTry.IsZero() {
		notes = append(notes, fmt.Sprintf("tried again in %s; at once: gitops-agent retry %s", max(g.NextTry.Sub(now), 0).Round(time.Second), g.Label()))
	}
	first := ""
	if len(notes) > 0 {
		first, notes = notes[0], notes[1:]
	}
	vmid := "-"
	if g.VMID != 0 {
		vmid = strconv.Itoa(g.VMID)
	}
	t.Add(term.Cell{Text: g.Label()}, term.Cell{Text: vmid}, term.Cell{Text: dash(g.Node)}, term.Cell{Text: string(g.Sync), Colour: syncColour(g.Sync)},
		term.Cell{Text: string(g.Health), Colour: healthColour(g.Health)}, term.Cell{Text: g.OperationText()}, readAge(g, now), term.Cell{Text: first})
	for _, note := range notes {
		t.AddText("", "", "", "", "", "", "", note)
	}
}

// remarks returns the held steps of a guest and its conditions, each with its remedy.
func remarks(g report.Guest) []string {
	var notes []string
	for _, h := range g.Held {
		notes = append(notes, fmt.Sprintf("held %s (%s): %s", h.Op, h.Reason, h.Message))
		if h.Hint != "" {
			notes = append(notes, h.Hint)
		}
		for _, u := range h.Uncounted {
			notes = append(notes, u.Message)
		}
	}
	for _, c := range g.Conditions {
		switch c.Type {
		case plan.Held, plan.Orphaned: // the held steps and the line of an orphaned guest already show these
		case plan.Drifted, plan.Pending, plan.Blocked, plan.Failed, plan.IdentityConflict, plan.NotObserved, plan.PendingRestart, plan.Suspended,
			plan.WaitsFor, plan.Leftover, plan.Warned:
			notes = append(notes, string(c.Type)+": "+c.Message)
			if c.Hint != "" {
				notes = append(notes, c.Hint)
			}
		}
	}
	return notes
}

// readAge returns the age of the full observation of the guest when the report was made.
func readAge(g report.Guest, now time.Time) term.Cell {
	if g.ObservedAt.IsZero() {
		return term.Cell{Text: "never"}
	}
	c := term.Cell{Text: max(now.Sub(g.ObservedAt), 0).Round(time.Second).String() + " ago"}
	if g.Stale {
		c.Text, c.Colour = c.Text+" (old)", term.Yellow
	}
	return c
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func syncColour(s report.Sync) term.Colour {
	switch s {
	case report.Synced:
		return term.Green
	case report.OutOfSync:
		return term.Yellow
	case report.SyncUnknown:
		return term.Red
	}
	return term.Plain
}

func healthColour(h report.Health) term.Colour {
	switch h {
	case report.Healthy:
		return term.Green
	case report.Progressing, report.HealthSuspended, report.Missing:
		return term.Yellow
	case report.Degraded, report.HealthUnknown:
		return term.Red
	}
	return term.Plain
}

func summary(r report.Report) string {
	if len(r.Guests) == 0 && r.InForceUnknown() {
		return "which guests are managed is unknown"
	}
	count := make(map[report.Sync]int)
	for _, g := range r.Guests {
		count[g.Sync]++
	}
	except := ""
	if r.Except != nil {
		except = fmt.Sprintf(" (%d of them %s)", len(r.Except.Guests), r.Except)
	}
	text := fmt.Sprintf("%s: %d in sync%s, %d not", size(r), count[report.Synced], except, count[report.OutOfSync])
	if unknown := count[report.SyncUnknown]; unknown > 0 {
		text += fmt.Sprintf(", %d unknown", unknown)
	}
	held := slices.ContainsFunc(r.Guests, func(g report.Guest) bool { return len(g.Held) > 0 })
	if held {
		text += ", some of them held"
	}
	if r.Journal.Unread {
		return text + "; which other guests are unmanaged is unknown"
	}
	return text + fmt.Sprintf("; %d unmanaged", len(r.Unmanaged))
}

// size returns how many guests and other objects the report has: "2 guests, 1 object".
func size(r report.Report) string {
	guests, objects := r.Count()
	text := term.Count(guests, "guest")
	if objects > 0 {
		text += ", " + term.Count(objects, "object")
	}
	return text
}
