package page

import (
	"time"

	"gitops-agent/internal/status/words"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// view is a report in the words of the overview.
type view struct {
	Source      sourceView
	ClusterRead timeView // the last time that the cluster answered
	VMListRead  timeView // the last time that Proxmox's list of guests was read
	NoGuests    string   // why there are none; "" if there are guests
	report      report.Report
	now         time.Time
}

// sourceView is the source of the revisions, and the revision in force.
type sourceView struct {
	Accepted    *report.Revision
	Branch      string
	ShortID     string // of the accepted commit
	NoRevision  string // why no revision is in force
	Signed      timeView
	InForce     timeView
	Converged   timeView
	HeadSeen    timeView
	LastSuccess timeView
}

func newView(r report.Report, now time.Time) view {
	v := view{report: r, now: now, ClusterRead: timeView{r.Proxmox.LastSuccess, now}, Source: newSourceView(r, now), NoGuests: noGuests(r)}
	if list := r.Proxmox.VMList; list != nil {
		v.VMListRead = timeView{list.ReadAt, now}
	}
	return v
}

func newSourceView(r report.Report, now time.Time) sourceView {
	s := sourceView{
		Accepted: r.Source.Accepted, Branch: r.Source.Branch, HeadSeen: timeView{r.Source.HeadSeen, now}, LastSuccess: timeView{r.Source.LastSuccess, now},
	}
	if a := r.Source.Accepted; a != nil {
		s.ShortID = words.ShortID(a.Commit)
		s.Signed, s.InForce, s.Converged = timeView{a.ProvenTime, now}, timeView{a.AcceptedAt, now}, timeView{a.Converged, now}
	} else {
		s.NoRevision = words.NoRevision(r)
	}
	return s
}

// noGuests returns why the table is empty, or "" if it is not.
func noGuests(r report.Report) string {
	switch {
	case len(r.Guests) > 0:
		return ""
	case r.Source.Accepted == nil:
		if r.InForceUnknown() {
			return words.Sentence(r.NoneInForce() + ", and with it which guests the agent manages: " + words.NoRevision(r))
		}
		return "No revision is accepted yet, so the agent manages no guests: " + words.NoRevision(r) + "."
	default:
		return "The revision in force names no guest, and the agent owns none."
	}
}

// ShortID returns the first digits of a commit id.
func (view) ShortID(commit string) string { return words.ShortID(commit) }

// WritesBadge returns whether the agent may write to the cluster.
func (v view) WritesBadge() badge {
	w := v.report.Writes
	if w.Allowed {
		return badge{Tone: good, Text: "allowed"}
	}
	b := badge{Tone: warn, Text: "stopped", Title: string(w.Reason)}
	if w.Reason.Row().Severity == reason.SeverityError {
		b.Tone = bad
	}
	return b
}

// ClusterBadge returns the state of the cluster.
func (v view) ClusterBadge() badge {
	return stateBadge(v.report.Proxmox.Ready, v.report.Proxmox.Error, "ready", "not ready")
}

// At returns a time for printing.
func (v view) At(at time.Time) timeView { return timeView{at, v.now} }

// RemoteStateBadge returns the state of a remote. The newest failure is the tooltip, also after it has ended.
func (v view) RemoteStateBadge(r report.Remote) badge {
	b := badge{Tone: idle, Text: string(r.State), Title: words.WithReason(string(r.Reason), r.Error)}
	switch r.State {
	case report.RemoteAnswers:
		b.Tone = good
	case report.RemoteLate, report.RemoteFailed, report.RemoteBehind:
		b.Tone = warn
		b.Text += " for " + v.At(r.Since).For()
	case report.RemoteUnknown:
	}
	return b
}

// EndpointBadge returns the state of an endpoint. The newest fault is the tooltip, also after it has ended.
func (view) EndpointBadge(e cluster.Endpoint) badge {
	b := badge{Tone: idle, Text: string(e.State)}
	if e.Fault != "" {
		b.Title = string(e.Fault) + ": " + e.Error
	}
	switch e.State {
	case cluster.EndpointUp:
		b.Tone = good
	case cluster.EndpointDown:
		b.Tone = warn
	case cluster.EndpointUnknown:
	}
	return b
}

// VMListBadge returns whether the agent uses Proxmox's list of guests, and how many guests it skips because of the list.
func (v view) VMListBadge() badge {
	switch list := v.report.Proxmox.VMList; {
	case list == nil:
		return badge{}
	case list.Error != "":
		return badge{Tone: warn, Text: "not used", Title: list.Error}
	default:
		return badge{Tone: good, Text: "skips " + words.Plural(list.Skipped, "guest"), Title: "the sweep reads them in full when the file shows a change"}
	}
}

// JournalBadge returns the state of the journal.
func (v view) JournalBadge() badge {
	return stateBadge(v.report.Journal.Healthy, v.report.Journal.Error, "healthy", "cannot be written")
}

// RemoteBadge returns whether the remote answers.
func (v view) RemoteBadge() badge {
	s := v.report.Source
	return stateBadge(!s.LastSuccess.IsZero() && s.Error == "", s.Error, "answers", "does not answer")
}
