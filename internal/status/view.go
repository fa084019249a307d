package status

import (
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/report"
)

// maxOpen bounds the guests whose details are unfolded when the page is loaded, so that a change of many guests stays readable.
const maxOpen = 25

// view is what the template prints: a report, in the words and the order of the page.
type view struct {
	Version     string
	Refresh     int        // seconds between reloads; 0 disables reloading
	GuestLabel  string     // of the guest that the request selects, to be shown above the table; "" is none
	Selected    *guestView // the guest with that label; nil if there is none
	Report      report.Report
	ReportedAt  timeView
	Notices     []notice
	Tiles       []tile
	Share       share
	Source      sourceView
	ClusterRead timeView // the last time that the cluster answered
	VMListRead  timeView // the last time that Proxmox's list of guests was read
	Attention   []guestView
	Others      []guestView
	now         time.Time
	NoGuests    string // why there are none; "" if there are guests
}

// tile is a number, and what the number counts.
type tile struct {
	Tone  tone
	Count int
	Label string
}

// share contains the percentages of guests by sync state, for the bar.
type share struct{ Synced, OutOfSync float64 }

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
	v := view{
		Report: r, ReportedAt: timeView{r.Time, now}, Notices: notices(r, now), ClusterRead: timeView{r.Proxmox.LastSuccess, now},
		Source: newSourceView(r, now), NoGuests: noGuests(r), now: now,
	}
	if list := r.Proxmox.VMList; list != nil {
		v.VMListRead = timeView{list.ReadAt, now}
	}
	for _, g := range r.Guests {
		if gv := newGuestView(g, now); gv.needsAttention() {
			gv.Open = len(v.Attention) < maxOpen
			v.Attention = append(v.Attention, gv)
		} else {
			v.Others = append(v.Others, gv)
		}
	}
	v.Tiles, v.Share = tiles(r)
	return v
}

func newSourceView(r report.Report, now time.Time) sourceView {
	s := sourceView{
		Accepted: r.Source.Accepted, Branch: r.Source.Branch, HeadSeen: timeView{r.Source.HeadSeen, now}, LastSuccess: timeView{r.Source.LastSuccess, now},
	}
	if a := r.Source.Accepted; a != nil {
		s.ShortID = shortID(a.Commit)
		s.Signed, s.InForce, s.Converged = timeView{a.ProvenTime, now}, timeView{a.AcceptedAt, now}, timeView{a.Converged, now}
	} else {
		s.NoRevision = noRevisionReason(r)
	}
	return s
}

func tiles(r report.Report) ([]tile, share) {
	count := map[report.Sync]int{}
	held := 0
	if r.Guards != nil {
		held = len(r.Guards.Held)
	}
	for _, g := range r.Guests {
		count[g.Sync]++
		held += len(g.Held)
	}
	percent := func(s report.Sync) float64 { return 100 * float64(count[s]) / float64(max(len(r.Guests), 1)) }
	return []tile{
		{idle, len(r.Guests), "guests"},
		{toneOfCount(count[report.Synced], good), count[report.Synced], "in sync"},
		{toneOfCount(count[report.OutOfSync], warn), count[report.OutOfSync], "out of sync"},
		{toneOfCount(count[report.SyncUnknown], warn), count[report.SyncUnknown], "unknown"},
		{toneOfCount(held, warn), held, "steps held"},
		{toneOfCount(r.QueueDepth, busy), r.QueueDepth, "queued or in progress"},
		{idle, len(r.Unmanaged), "unmanaged"},
	}, share{percent(report.Synced), percent(report.OutOfSync)}
}

// toneOfCount returns t, or idle if the count is 0.
func toneOfCount(count int, t tone) tone {
	if count == 0 {
		return idle
	}
	return t
}

// noGuests returns why the table is empty, or "" if it is not.
func noGuests(r report.Report) string {
	switch {
	case len(r.Guests) > 0:
		return ""
	case r.Source.Accepted == nil:
		return "No revision is accepted yet, so the agent manages no guests: " + noRevisionReason(r) + "."
	default:
		return "The revision in force names no guest, and the agent owns none."
	}
}

// Headline returns the title of the page: the most urgent notice, or the number of guests in sync.
func (v view) Headline() string {
	if len(v.Notices) > 0 {
		return v.Notices[0].Title
	}
	synced := 0
	for _, g := range v.Report.Guests {
		if g.Sync == report.Synced {
			synced++
		}
	}
	return fmt.Sprintf("%d of %s in sync", synced, plural(len(v.Report.Guests), "guest"))
}

// Tone returns the colour of the first notice.
func (v view) Tone() tone {
	if len(v.Notices) > 0 {
		return v.Notices[0].Tone
	}
	return idle
}

// ShortID returns the first digits of a commit id.
func (view) ShortID(commit string) string { return shortID(commit) }

// selectGuest shows the guest with the label above the table.
func (v *view) selectGuest(label string, now time.Time) {
	v.GuestLabel = label
	for _, g := range v.Report.Guests {
		if g.Label() == label {
			selected := newGuestView(g, now)
			selected.Open = true
			v.Selected = &selected
		}
	}
}

// WritesBadge returns whether the agent may write to the cluster.
func (v view) WritesBadge() badge {
	w := v.Report.Writes
	if w.Allowed {
		return badge{Tone: good, Text: "allowed"}
	}
	b := badge{Tone: warn, Text: "stopped", Title: string(w.Reason)}
	if slices.Contains([]gate.WriteStop{gate.StopJournal, gate.StopUnverified, gate.StopPolicy, gate.StopNotReady, gate.StopStateDirectory, gate.StopSuperseded, gate.StopUnclaimed}, w.Reason) {
		b.Tone = bad
	}
	return b
}

// ClusterBadge returns the state of the cluster.
func (v view) ClusterBadge() badge {
	return stateBadge(v.Report.Proxmox.Ready, v.Report.Proxmox.Error, "ready", "not ready")
}

// At returns a time for printing.
func (v view) At(at time.Time) timeView { return timeView{at, v.now} }

// RemoteStateBadge returns the state of a remote. The newest failure is the tooltip, also after it has ended.
func (v view) RemoteStateBadge(r report.Remote) badge {
	b := badge{Tone: idle, Text: string(r.State), Title: withReason(string(r.Reason), r.Error)}
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
	switch list := v.Report.Proxmox.VMList; {
	case list == nil:
		return badge{}
	case list.Error != "":
		return badge{Tone: warn, Text: "not used", Title: list.Error}
	default:
		return badge{Tone: good, Text: "skips " + plural(list.Skipped, "guest"), Title: "the sweep reads them in full when the file shows a change"}
	}
}

// JournalBadge returns the state of the journal.
func (v view) JournalBadge() badge {
	return stateBadge(v.Report.Journal.Healthy, v.Report.Journal.Error, "healthy", "cannot be written")
}

// RemoteBadge returns whether the remote answers.
func (v view) RemoteBadge() badge {
	s := v.Report.Source
	return stateBadge(!s.LastSuccess.IsZero() && s.Error == "", s.Error, "answers", "does not answer")
}
