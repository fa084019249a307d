package status

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"gitops-agent/internal/status/words"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// serveHealth reports whether the engine completes cycles. It does not report the state of the cluster, which a restart of the agent
// would not correct.
func (s *site) serveHealth(w http.ResponseWriter, _ *http.Request) {
	if reason := s.stuckReason(s.opts.Report(), time.Now()); reason != "" {
		writeProbe(w, []string{"cycle: " + reason}, nil)
		return
	}
	writeProbe(w, nil, nil)
}

// serveReady reports whether the agent can do its work now, and each reason why it cannot.
func (s *site) serveReady(w http.ResponseWriter, _ *http.Request) {
	r := s.opts.Report()
	var reasons []string
	if reason := s.stuckReason(r, time.Now()); reason != "" {
		reasons = append(reasons, "cycle: "+reason)
	}
	writeProbe(w, append(reasons, notReadyReasons(r, time.Now())...), guardRailNotes(r))
}

// stuckReason returns why the engine seems to be stuck, or "" if it is not.
func (s *site) stuckReason(r report.Report, now time.Time) string {
	return StuckReason(r, s.started, s.opts.StaleAfter, now)
}

// StuckReason returns why an engine that started at a time seems to be stuck, or "" if a cycle has ended within the time that one may take.
func StuckReason(r report.Report, started time.Time, staleAfter time.Duration, now time.Time) string {
	last := r.Time
	if last.IsZero() {
		last = started
	}
	age := now.Sub(last)
	if age <= staleAfter {
		return ""
	}
	if r.Time.IsZero() {
		return fmt.Sprintf("no cycle has ended in the %s since the start", words.Span(age))
	}
	return fmt.Sprintf("the last cycle ended %s ago", words.Span(age))
}

// notReadyReasons returns why the agent cannot do its work.
func notReadyReasons(r report.Report, now time.Time) []string {
	var reasons []string
	if r.Source.Accepted == nil {
		reasons = append(reasons, "revision: "+noneInForce(r)+": "+words.NoRevision(r))
	}
	if row := r.Writes.Reason.Row(); row.Part != "" && !row.Told {
		text := r.Writes.Message
		if row.Stop == reason.StopUnverified {
			text = row.Sentence + ": " + text
		}
		reasons = append(reasons, row.Part+": "+text)
	}
	if !r.Proxmox.Ready {
		reasons = append(reasons, "cluster: "+words.WithReason(string(r.Proxmox.Reason), cmp.Or(r.Proxmox.Error, "not read yet")))
	}
	for _, late := range r.Late {
		reasons = append(reasons, "late: "+late.Text(now))
	}
	if !r.Journal.Healthy {
		reasons = append(reasons, "journal: "+words.WithReason(string(r.Journal.Reason), cmp.Or(r.Journal.Error, "not checked yet")))
	}
	return reasons
}

// noneInForce says that no revision is in force, or that it is unknown which one is.
func noneInForce(r report.Report) string {
	if r.InForceUnknown() {
		return "it is unknown which one is in force"
	}
	return "none is accepted yet"
}

// guardRailNotes returns the guards that keep the agent from work now although it is ready: a person asked for them, or has to decide. It also returns what
// is wrong with the head, the remotes, the trusted root and the clocks while a revision is in force.
func guardRailNotes(r report.Report) []string {
	var notes []string
	if among := r.Replica; among != nil && among.Role == report.RoleStandby {
		notes = append(notes, "standby: "+among.WhoLeads())
	}
	if p := r.Writes.Paused; p != nil {
		notes = append(notes, "paused: "+p.String())
	}
	if refused := r.Source.Refused; refused != nil && r.Source.Accepted != nil {
		notes = append(notes, fmt.Sprintf("refused: %s: %s", refused.Reason, refused.Error))
	}
	if waiting := r.Source.Waiting; waiting != nil && r.Source.Accepted != nil {
		notes = append(notes, fmt.Sprintf("waiting: %s: %s", waiting.Reason, waiting.Text()))
	}
	if r.Source.RootExpired {
		notes = append(notes, "trusted-root: "+words.RootExpired(r))
	}
	if r.Source.RootError != "" {
		notes = append(notes, "trusted-root: the previous one stays in force: "+r.Source.RootError)
	}
	for _, e := range r.Proxmox.Endpoints {
		if e.ClockDiffers() {
			notes = append(notes, "clock: "+e.ClockText())
		}
	}
	if r.Source.Error != "" && r.Source.Accepted != nil {
		notes = append(notes, "source: "+words.WithReason(string(r.Source.Reason), r.Source.Error))
	}
	for _, remote := range r.Source.Remotes {
		if r.Source.Error == "" && remote.State != report.RemoteAnswers && remote.State != report.RemoteUnknown {
			notes = append(notes, fmt.Sprintf("remote: %s: %s: %s", remote.State, remote.URL, remote.Error))
		}
	}
	guards := make(map[string]bool) // digests: one change of a guard may concern several guests
	count := func(held []report.HeldStep) {
		for _, h := range held {
			if h.Reason == reason.Guard {
				guards[h.Digest] = true
			}
		}
	}
	if r.Guards != nil {
		count(r.Guards.Held)
	}
	hidden, hanging := 0, 0
	for _, g := range r.Guests {
		count(g.Held)
		for _, c := range g.Conditions {
			switch {
			case c.Type == plan.Blocked && c.Reason == reason.Denied:
				hidden++
			case c.Reason == reason.TaskHangs && c.Type == plan.Blocked:
				hanging++
			}
		}
	}
	for _, n := range []struct {
		count int
		text  string
	}{
		{len(guards), "held: %d weaker guards wait for signed approvals"},
		{hidden, "hidden: %d guests that the token may not see"},
		{hanging, "task-hangs: %d guests with a task that does not end"},
	} {
		if n.count > 0 {
			notes = append(notes, fmt.Sprintf(n.text, n.count))
		}
	}
	return notes
}

// writeProbe writes status 200 and "ok", or status 503 and one line for each reason. The notes follow, one in each line; they do not change the status.
func writeProbe(w http.ResponseWriter, reasons, notes []string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if len(reasons) == 0 {
		reasons = []string{"ok"}
	} else {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	for _, reason := range append(reasons, notes...) {
		_, _ = w.Write([]byte(words.OneLine(reason) + "\n"))
	}
}
