package page

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gitops-agent/internal/status/words"
	"gitops-agent/reconcile/history"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/selection"
)

// Bounds of the overview.
const (
	maxOpen     = 25  // guests whose details are unfolded when the page is loaded, so that a change of many guests stays readable
	maxDetailed = 100 // guests with details; those of the others are on their own pages
	maxUnfolded = 12  // guests of a group that is unfolded although none of them needs attention
)

// overview is the page of all guests.
type overview struct {
	frame
	view
	form

	Notices   []notice
	Tiles     []tile
	Share     share
	Groups    []groupView
	Selected  int
	Columns   []column
	Filtered  bool
	Steps     []entryView
	Revisions []revisionView

	Convergence *convergence // nil if there is nothing to compare
	Rollouts    []rolloutView
	Orders      []orderView
}

// groupView is a group of guests.
type groupView struct {
	Key, Title string
	Open       bool
	Quiet      bool // none of its guests needs attention
	Guests     []guestView
}

// tile is a number, what the number counts, and the parameters that select these guests.
type tile struct {
	Tone  tone
	Count int
	Label string
	Query string // "" if there are none
}

// column is a heading of the table. Its link sorts the table.
type column struct {
	Title string
	Href  string // "" if the column does not sort
	Sort  string // ascending, descending or ""
}

// form are the inputs that select guests: those that are always visible, and those that are folded until one is used.
type form struct {
	Fields, More []field
	MoreOpen     bool
}

// field is an input of the form.
type field struct {
	selection.Parameter

	Label   string
	Value   string
	Options []option
}

type option struct {
	Value, Label string
	Chosen       bool
}

// share contains the percentages of guests by sync state, for the bar.
type share struct{ Synced, OutOfSync float64 }

// revisionView is a revision of the timeline.
type revisionView struct {
	history.Revision

	Link            commitLink
	Decided, Signed timeView
	ConvergedAfter  string // "" if it has not converged
	InForce         bool
}

// entryView is an entry of a history.
type entryView struct {
	history.Entry

	Link  commitLink
	Guest guestLink
	Began timeView
	Took  string
	State badge
	Links []taskLink
}

func newOverview(in Input) overview {
	f := newFrame(in, "", "overview")
	v := overview{frame: f, view: newView(in.Report, in.Now), Notices: notices(in.Report, in.Now), Filtered: in.Selection.IsFilter()}
	for i := range v.Notices {
		v.Notices[i].Links, v.Notices[i].Runbook = f.links.guestsOf(v.Notices[i].Guests), f.links.runbook(v.Notices[i].Heading)
	}
	if in.Stuck != "" {
		v.Notices = slices.Insert(v.Notices, 0, notice{
			Tone: bad, Title: "The agent seems to be stuck", Text: words.Sentence(in.Stuck), Hint: "read its log; this page shows the state after its last cycle",
		})
	}
	v.Title = v.headline()
	if len(v.Notices) > 0 {
		v.TitleTone = v.Notices[0].Tone
	}
	v.Tiles, v.Share = tiles(in.Report)
	v.Columns, v.form = columns(in.Selection), newForm(in.Selection, in.Report.Guests)
	v.addGroups()
	v.Rollouts = f.newRollouts(in.Report.Rollouts)
	v.Orders = f.newOrders(in.Report.Orders)
	for _, r := range in.Revisions {
		v.Revisions = append(v.Revisions, v.newRevision(r))
	}
	v.Convergence = newConvergence(v.Revisions, in.Now)
	for _, e := range in.Steps {
		v.Steps = append(v.Steps, f.newEntry(e))
	}
	return v
}

// FirstNotice returns the most urgent notice, nil if there is none.
func (v *overview) FirstNotice() *notice {
	if len(v.Notices) == 0 {
		return nil
	}
	return &v.Notices[0]
}

// MoreNotices returns the notices after the most urgent one, which are folded on a phone.
func (v *overview) MoreNotices() []notice { return v.Notices[min(len(v.Notices), 1):] }

func (v *overview) addGroups() {
	detailed := 0
	for _, group := range v.Selection.Apply(v.Report.Guests) {
		g := groupView{Key: group.Key, Title: groupTitle(v.Selection.Group, group.Key), Quiet: true}
		for _, guest := range group.Guests {
			row := newGuestView(guest, v.Now, v.links)
			if row.NeedsAttention {
				g.Quiet = false
				row.Detailed, row.Open = detailed < maxDetailed, detailed < maxOpen
				detailed++
			}
			g.Guests = append(g.Guests, row)
		}
		g.Open = !g.Quiet || len(g.Guests) <= maxUnfolded || v.Filtered || v.Selection.Group == selection.Ungrouped
		v.Selected += len(g.Guests)
		v.Groups = append(v.Groups, g)
	}
}

func groupTitle(by selection.Grouping, key string) string {
	switch {
	case key == selection.Attention:
		return "Needs attention"
	case key == selection.NoAction:
		return "No action needed"
	case by == selection.Ungrouped:
		return "Guests"
	case key == "" && by == selection.ByTag:
		return "No tag"
	case key == "":
		return "No " + string(by)
	case by == selection.ByTag:
		return "Tag " + key
	case by == selection.ByNodes:
		return "Node " + key
	}
	return key
}

// headline returns the title of the page: the most urgent notice, or the number of guests in sync.
func (v *overview) headline() string {
	if len(v.Notices) > 0 {
		return v.Notices[0].Title
	}
	synced := 0
	for _, g := range v.Report.Guests {
		if g.Sync == report.Synced {
			synced++
		}
	}
	guests, objects := v.Report.Count()
	what := words.Plural(guests, "guest")
	if objects > 0 {
		what += " and " + words.Plural(objects, "object")
	}
	return fmt.Sprintf("%d of %s in sync", synced, what)
}

// columns returns the headings. The link of the column that sorts the table reverses the order.
func columns(s selection.Selection) []column {
	list := []column{}
	for _, c := range []struct {
		title string
		by    selection.Order
	}{
		{"guest", selection.ByName},
		{"vmid", selection.ByVMID},
		{"node", selection.ByNode},
		{"state", selection.BySync},
		{"status", ""},
		{"drifted for", selection.ByDrift},
		{"last read", selection.ByRead},
	} {
		heading := column{Title: c.title}
		if c.by != "" {
			next := s
			next.Order, next.Reverse = c.by, false
			if cmp.Or(s.Order, selection.ByVMID) == c.by {
				next.Reverse = !s.Reverse
				heading.Sort = "ascending"
				if s.Reverse {
					heading.Sort = "descending"
				}
			}
			heading.Href = "?" + next.Values().Encode()
		}
		list = append(list, heading)
	}
	return list
}

// newForm returns the inputs of the form, in the order of the parameters.
func newForm(s selection.Selection, guests []report.Guest) form {
	values := s.Values()
	var nodes, tags []string
	for _, g := range guests {
		nodes, tags = append(nodes, g.Node), append(tags, g.Tags...)
	}
	known := map[string][]string{"node": sorted(nodes), "tag": sorted(tags)}
	labels := map[string]string{
		"search": "Search", "node": "Node", "tag": "Tag", "sync": "Sync", "health": "Health", "held": "Held steps", "problems": "Problems only", "sort": "Sort by",
		"group": "Group by",
	}
	none := map[string]string{"sort": "vmid", "group": "attention"}
	var all form
	for _, p := range selection.Parameters() {
		f := field{Parameter: p, Label: labels[p.Name], Value: values.Get(p.Name)}
		choices := slices.Concat(p.Words, known[p.Name])
		if !slices.Contains(choices, f.Value) && f.Value != "" {
			choices = append(choices, f.Value)
		}
		if p.Name != "search" && !p.IsSwitch() {
			f.Options = append(f.Options, option{"", cmp.Or(none[p.Name], "any"), f.Value == ""})
			for _, word := range choices {
				if word != none[p.Name] {
					f.Options = append(f.Options, option{word, word, word == f.Value})
				}
			}
		}
		if p.Name == "search" || p.Name == "problems" {
			all.Fields = append(all.Fields, f)
		} else {
			all.More, all.MoreOpen = append(all.More, f), all.MoreOpen || f.Value != ""
		}
	}
	return all
}

func sorted(list []string) []string {
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(s string) bool { return s == "" })
}

// tiles returns the counts. A count of 0 is left out, but those of all guests and of guests in sync.
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
	in := func(s report.Sync) string { return "?" + url.Values{"sync": {string(s)}}.Encode() }
	guests, objects := r.Count()
	synced := tile{good, count[report.Synced], "in sync", in(report.Synced)}
	if synced.Count == 0 {
		synced.Tone = idle
	}
	rest := []tile{
		{idle, objects, "other objects", ""},
		{warn, count[report.OutOfSync], "out of sync", in(report.OutOfSync)},
		{warn, count[report.SyncUnknown], "unknown", in(report.SyncUnknown)},
		{warn, held, "steps held", "?held=yes"},
		{busy, r.QueueDepth, "queued or in progress", ""},
		{idle, len(r.Unmanaged), "unmanaged", ""},
	}
	rest = slices.DeleteFunc(rest, func(t tile) bool { return t.Count == 0 })
	return append([]tile{{idle, guests, "guests", "?"}, synced}, rest...), share{percent(report.Synced), percent(report.OutOfSync)}
}

func (v *overview) newRevision(r history.Revision) revisionView {
	rv := revisionView{Revision: r, Link: v.links.commit(r.Commit), Decided: timeView{r.Time, v.Now}, Signed: timeView{r.Proven, v.Now}}
	if a := v.Report.Source.Accepted; a != nil && a.Commit == r.Commit && r.Refused == "" {
		rv.InForce = true
		if r.Converged.IsZero() {
			rv.Converged = a.Converged
		}
	}
	if !rv.Converged.IsZero() {
		rv.ConvergedAfter = words.Span(rv.Converged.Sub(r.Time))
	}
	if refused := v.Report.Source.Refused; refused != nil && refused.Commit == r.Commit && r.Refused != "" {
		rv.Error, rv.Hint = refused.Error, refused.Hint
	}
	return rv
}

// StepCount returns the number of steps in words.
func (v revisionView) StepCount() string {
	if v.Steps == 0 {
		return "no steps"
	}
	return words.Plural(v.Steps, "step")
}

// newEntry returns an entry for printing.
func (f frame) newEntry(e history.Entry) entryView {
	v := entryView{Entry: e, Link: f.links.commit(e.Revision), Guest: f.links.guest(e.Guest), Began: timeView{e.Time, f.Now}}
	for _, upid := range e.Tasks {
		v.Links = append(v.Links, f.links.task(upid))
	}
	switch {
	case e.Running():
		v.State = badge{Tone: busy, Text: "running"}
	case e.Step != "":
		v.State, v.Took = badge{Tone: resultTone(e.Result), Text: string(e.Result)}, words.Span(e.Ended.Sub(e.Time))
	}
	if v.Guest.Label == "" && e.VMID != 0 {
		v.Guest.Label = fmt.Sprint(e.VMID)
	}
	return v
}

func resultTone(result journal.Result) tone {
	switch result {
	case journal.Done:
		return good
	case journal.Failed, journal.Unknown:
		return bad
	case journal.NotRun:
	}
	return idle
}

// Operation returns the name of an entry in words.
func (e entryView) Operation() string { return strings.ReplaceAll(e.Name, "-", " ") }
