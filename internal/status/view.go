package status

import (
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/report"
)

// view is what the template prints: a report in the words and the order in which people ask.
type view struct {
	Version   string
	Refresh   int    // seconds between reloads; 0 is none
	Asked     string // label of a guest to show above all others; "" is none
	Chosen    *guestView
	Report    report.Report
	Made      moment // when the report was made
	Notices   []notice
	Tiles     []tile
	Share     share
	Source    sourceView
	Contact   moment // with the cluster
	ListRead  moment // Proxmox's list of guests
	Attention []guestView
	Others    []guestView
	NoGuests  string // why there is none
}

// tile is a number and what it counts.
type tile struct {
	Tone  tone
	Count int
	Label string
}

// share is how many of a hundred guests are in each sync state, for the bar.
type share struct{ Synced, OutOfSync float64 }

// sourceView is where the revisions come from and which one is in force.
type sourceView struct {
	Accepted    *report.Revision
	Branch      string
	Short       string // id of the accepted commit as people write it
	NoRevision  string // why there is none
	Proven      moment
	Since       moment
	Converged   moment
	HeadSeen    moment
	LastSuccess moment
}

func newView(r report.Report, now time.Time) view {
	v := view{
		Report: r, Made: moment{r.Time, now}, Notices: notices(r, now), Contact: moment{r.Proxmox.LastSuccess, now},
		Source: newSourceView(r, now), NoGuests: noGuests(r),
	}
	if list := r.Proxmox.VMList; list != nil {
		v.ListRead = moment{list.ReadAt, now}
	}
	for _, g := range r.Guests {
		if gv := newGuestView(g, now); gv.needsLook() {
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
		Accepted: r.Source.Accepted, Branch: r.Source.Branch, HeadSeen: moment{r.Source.HeadSeen, now}, LastSuccess: moment{r.Source.LastSuccess, now},
	}
	if a := r.Source.Accepted; a != nil {
		s.Short = short(a.Commit)
		s.Proven, s.Since, s.Converged = moment{a.ProvenTime, now}, moment{a.AcceptedAt, now}, moment{a.Converged, now}
	} else {
		s.NoRevision = noRevision(r)
	}
	return s
}

func tiles(r report.Report) ([]tile, share) {
	count := map[report.Sync]int{}
	held := 0
	for _, g := range r.Guests {
		count[g.Sync]++
		held += len(g.Held)
	}
	of := func(s report.Sync) float64 { return 100 * float64(count[s]) / float64(max(len(r.Guests), 1)) }
	return []tile{
		{idle, len(r.Guests), "guests"},
		{unless(count[report.Synced] == 0, good), count[report.Synced], "in sync"},
		{unless(count[report.OutOfSync] == 0, warn), count[report.OutOfSync], "out of sync"},
		{unless(count[report.SyncUnknown] == 0, warn), count[report.SyncUnknown], "unknown"},
		{unless(held == 0, warn), held, "steps held"},
		{unless(r.QueueDepth == 0, busy), r.QueueDepth, "at work"},
		{idle, len(r.Unmanaged), "unmanaged"},
	}, share{of(report.Synced), of(report.OutOfSync)}
}

// unless returns the tone, or idle where there is nothing to point at.
func unless(nothing bool, t tone) tone {
	if nothing {
		return idle
	}
	return t
}

// noGuests explains an empty table.
func noGuests(r report.Report) string {
	switch {
	case len(r.Guests) > 0:
		return ""
	case r.Source.Accepted == nil:
		return "No revision is accepted yet, so nothing is wanted of any guest: " + noRevision(r) + "."
	default:
		return "The revision in force names no guest, and the agent owns none."
	}
}

// Headline is the page's title: the first thing that somebody should know.
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

// Tone is that of the first notice.
func (v view) Tone() tone {
	if len(v.Notices) > 0 {
		return v.Notices[0].Tone
	}
	return idle
}

// Short returns a commit id as people write it.
func (view) Short(commit string) string { return short(commit) }

// choose shows the guest of a label above all others.
func (v *view) choose(label string, now time.Time) {
	v.Asked = label
	for _, g := range v.Report.Guests {
		if g.Label() == label {
			chosen := newGuestView(g, now)
			chosen.Open = true
			v.Chosen = &chosen
		}
	}
}

// Writes returns the state of writing as a badge.
func (v view) Writes() badge {
	w := v.Report.Writes
	if w.Allowed {
		return badge{Tone: good, Text: "allowed"}
	}
	b := badge{Tone: warn, Text: "stopped", Title: string(w.Reason)}
	if slices.Contains([]gate.WriteStop{gate.StopJournal, gate.StopUnverified, gate.StopNotReady}, w.Reason) {
		b.Tone = bad
	}
	return b
}

// Cluster returns the state of the cluster as a badge.
func (v view) Cluster() badge {
	return state(v.Report.Proxmox.Ready, v.Report.Proxmox.Error, "ready", "not ready")
}

// List returns what Proxmox's list of guests is worth as a badge.
func (v view) List() badge {
	switch list := v.Report.Proxmox.VMList; {
	case list == nil:
		return badge{}
	case list.Error != "":
		return badge{Tone: warn, Text: "not believed", Title: list.Error}
	default:
		return badge{Tone: good, Text: "skips " + plural(list.Skipped, "guest"), Title: "the sweep reads them in full when the file shows a change"}
	}
}

// Journal returns the state of the journal as a badge.
func (v view) Journal() badge {
	return state(v.Report.Journal.Healthy, v.Report.Journal.Error, "healthy", "takes no records")
}

// Remote returns the state of the remote as a badge.
func (v view) Remote() badge {
	s := v.Report.Source
	return state(!s.LastSuccess.IsZero() && s.Error == "", s.Error, "answers", "does not answer")
}

// state is a badge for something that works, does not, or was not tried yet.
func state(works bool, trouble, yes, no string) badge {
	switch {
	case works:
		return badge{Tone: good, Text: yes}
	case trouble == "":
		return badge{Tone: idle, Text: "not known yet"}
	default:
		return badge{Tone: bad, Text: no}
	}
}

// plural returns "1 guest" or "2 guests".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
