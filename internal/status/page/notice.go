package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitops-agent/internal/status/words"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// notice is a message above the table.
type notice struct {
	Tone   tone
	Title  string
	Text   string
	Hint   string
	Since  timeView
	Guests []string // labels
	Links  []guestLink

	Heading string // of the runbook
	Runbook string // its address
}

// maxLinks bounds the guests that a notice names. The table contains all of them.
const maxLinks = 12

// notices returns the messages above the table, most urgent first. A converged cluster has one message that states it, and
// what its guests lack although they are in sync.
func notices(r report.Report, now time.Time) []notice {
	if r.Time.IsZero() {
		return []notice{{Tone: busy, Title: "Starting", Text: "The first cycle has not ended yet."}}
	}
	var list []notice
	list = append(list, writeStopNotices(r)...)
	list = append(list, pauseNotices(r, now)...)
	list = append(list, sourceNotices(r, now)...)
	list = append(list, problemNotices(r, now)...)
	list = append(list, guardNotices(r, now)...)
	list = append(list, rolloutNotices(r, now)...)
	list = append(list, guestNotices(r)...)
	list = append(list, lostNotices(r)...)
	slices.SortStableFunc(list, func(a, b notice) int { return severity(a.Tone) - severity(b.Tone) })
	switch {
	case r.Except != nil:
		list = append(list, exceptNotice(r))
	case r.Converged:
		list = append(list, notice{Tone: good, Title: convergedTitle(r)})
	}
	return append(list, warningNotices(r)...)
}

func severity(t tone) int { return slices.Index([]tone{bad, warn, busy, idle, good}, t) }

func convergedTitle(r report.Report) string {
	revision := "the accepted revision"
	if a := r.Source.Accepted; a != nil {
		revision = r.Source.Branch + "@" + words.ShortID(a.Commit)
	}
	switch len(r.Guests) {
	case 0:
		return "No guests to manage: " + revision + " names none"
	case 1:
		return "The only guest matches " + revision
	default:
		return fmt.Sprintf("All %d guests match %s", len(r.Guests), revision)
	}
}

// exceptNotice says what guests in sync lack although nothing is left for the agent to do, with what ends it.
func exceptNotice(r report.Report) notice {
	n := notice{Tone: warn, Title: "In sync " + r.Except.String(), Guests: r.Except.Guests[:min(len(r.Except.Guests), maxLinks)]}
	if r.Converged {
		n.Title = convergedTitle(r) + ", " + r.Except.String()
	}
	var hints []string
	for _, g := range r.Guests {
		for _, c := range g.Conditions {
			if g.Except() != nil && len(c.Settings) > 0 && len(hints) < maxLinks {
				hints = append(hints, g.Label()+": "+c.Hint)
			}
		}
	}
	n.Text = strings.Join(hints, "\n")
	return n
}

// lostNotices returns a notice of the guests whose ownership records were lost.
func lostNotices(r report.Report) []notice {
	if r.Recovery == nil {
		return nil
	}
	n := notice{Tone: warn, Title: "Guests with a marker and without an ownership record", Text: "The agent changes none of them."}
	for i, g := range r.Recovery.Guests {
		if i == maxLinks {
			n.Text += fmt.Sprintf(" And %d more.", len(r.Recovery.Guests)-i)
			break
		}
		n.Text += " " + g.String() + "."
	}
	n.Hint = "gitops-agent recover lists them"
	if r.Recovery.Digest != "" {
		n.Hint += "; gitops-agent recover --yes, or gitops-agent approve " + r.Recovery.Digest + ", claims those that are claimable"
	}
	return []notice{n}
}

// writeStopNotices returns the reason why the agent does not write to the cluster.
func writeStopNotices(r report.Report) []notice {
	if r.Writes.Allowed || r.Writes.Reason == reason.StopPaused { // pauseNotices shows a pause
		return nil
	}
	row := r.Writes.Reason.Row()
	n := notice{
		Tone: toneOf(row.Severity), Title: cmp.Or(row.Title, "The agent does not write to the cluster"), Text: r.Writes.Message, Hint: row.Remedy.Text, Heading: row.Runbook,
	}
	switch r.Writes.Reason { //nolint:exhaustive // the message of every other reason says more than its row
	case reason.StopNoRevision:
		n.Text = words.Sentence(row.Sentence + ": " + words.NoRevision(r))
	case reason.StopDryRun:
		n.Text = words.Sentence(row.Sentence)
	case reason.StopJournal:
		n.Title, n.Hint = words.Titled(n.Title, string(r.Journal.Reason)), reason.Outage(reason.Journal, string(r.Journal.Reason)).Remedy.Text
	case reason.StopNotReady:
		n.Title = words.Titled(n.Title, string(r.Proxmox.Reason))
	case reason.StopStateDirectory:
		n.Hint = "" // the message has it
	}
	return []notice{n}
}

// pauseNotices reports that a person has paused the agent, also if the agent does not write for another reason.
func pauseNotices(r report.Report, now time.Time) []notice {
	p := r.Writes.Paused
	if p == nil {
		return nil
	}
	row := reason.StopPaused.Row()
	return []notice{{
		Tone: toneOf(row.Severity), Title: row.Title, Text: "It observes and plans, but writes nothing to the cluster: paused " + p.String(),
		Hint: row.Remedy.Text, Since: timeView{p.Since, now}, Heading: row.Runbook,
	}}
}

// sourceNotices reports a head that is refused or waits, and a remote that does not answer.
func sourceNotices(r report.Report, now time.Time) []notice {
	var list []notice
	inForce := "No revision is in force."
	if r.InForceUnknown() {
		inForce = words.Sentence(r.NoneInForce())
	}
	if a := r.Source.Accepted; a != nil {
		inForce = "The accepted revision stays in force: " + r.Source.Branch + "@" + words.ShortID(a.Commit) + "."
	}
	if r.AcceptedNotInForce() {
		inForce = "No revision is in force. " + r.Source.Branch + "@" + words.ShortID(r.Source.Accepted.Commit) + " was accepted: " + r.Writes.Message + "."
	}
	if refused := r.Source.Refused; refused != nil {
		list = append(list, notice{
			Tone: bad, Title: fmt.Sprintf("Revision %s is refused: %s", words.ShortID(refused.Commit), refused.Reason),
			Text: refused.Error + "\n" + inForce, Hint: refused.Hint, Since: timeView{refused.Since, now}, Heading: refusedHeading,
		})
	}
	if waiting := r.Source.Waiting; waiting != nil {
		heading := ""
		if waiting.ForEvidence() {
			heading = evidenceHeading
		}
		list = append(list, notice{
			Tone: warn, Title: fmt.Sprintf("Revision %s waits: %s", words.ShortID(waiting.Commit), waiting.Reason),
			Text: waiting.Text() + "\n" + inForce, Hint: waiting.Hint, Since: timeView{waiting.Since, now}, Heading: heading,
		})
	}
	if ahead := r.Source.Ahead; ahead != nil {
		n := notice{Tone: idle, Title: "Newer commits are for other targets", Text: words.Sentence(ahead.Text()) + "\n" + inForce, Hint: ahead.Hint}
		if len(ahead.Unknown) > 0 {
			n.Tone, n.Title = warn, "Newer commits are for targets that the repository does not have"
		}
		list = append(list, n)
	}
	if head := r.Source.Checking(); head != "" && r.Source.Accepted != nil {
		list = append(list, notice{Tone: busy, Title: fmt.Sprintf("Revision %s is being checked", words.ShortID(head)), Text: inForce, Since: timeView{r.Source.HeadSeen, now}})
	}
	if r.Source.Error != "" {
		list = append(list, notice{
			Tone: warn, Title: words.Titled("The remote could not be read", string(r.Source.Reason)), Text: r.Source.Error + "\n" + inForce,
			Hint: reason.Outage(reason.Source, string(r.Source.Reason)).Remedy.Text, Since: timeView{r.Source.LastSuccess, now}, Heading: staleHeading,
		})
	}
	if r.Source.RootExpired {
		list = append(list, notice{
			Tone: bad, Title: "The trusted root has expired", Text: words.Sentence(words.RootExpired(r)) + "\n" + inForce,
			Hint: "replace trust.trusted_root_file, or configure trust.tuf", Since: timeView{r.Source.RootExpires, now},
		})
	}
	if r.Source.RootError != "" {
		list = append(list, notice{Tone: warn, Title: "The newest trusted root is not in force", Text: "The previous one stays in force: " + r.Source.RootError, Hint: reason.CheckTrustFiles.Text})
	}
	return list
}

// guardNotices reports changes that would weaken the guards of the Cluster.
func guardNotices(r report.Report, now time.Time) []notice {
	if r.Guards == nil {
		return nil
	}
	var list []notice
	for _, h := range r.Guards.Held {
		lines := []string{h.Message}
		for _, u := range h.Uncounted {
			lines = append(lines, u.Message)
		}
		list = append(list, notice{Tone: warn, Title: "A weaker guard of the Cluster waits for signed approvals", Text: strings.Join(lines, "\n"), Hint: h.Hint, Since: timeView{h.Since, now}})
	}
	return list
}

// warningNotices reports the warnings about the manifests in force.
func warningNotices(r report.Report) []notice {
	if a := r.Source.Accepted; a != nil && len(a.Warnings) > 0 {
		return []notice{{Tone: warn, Title: "The manifests have warnings", Text: strings.Join(a.Warnings, "\n")}}
	}
	return nil
}

// problemNotices reports problems with the cluster and the journal that are not also the reason why the agent does not write.
func problemNotices(r report.Report, now time.Time) []notice {
	var list []notice
	if r.Proxmox.Error != "" && r.Writes.Reason != reason.StopNotReady {
		list = append(list, notice{
			Tone: warn, Title: words.Titled("The cluster could not be read completely", string(r.Proxmox.Reason)), Text: r.Proxmox.Error, Since: timeView{r.Proxmox.LastSuccess, now},
		})
	}
	for _, e := range r.Proxmox.Endpoints {
		if e.State == cluster.EndpointDown && len(r.Proxmox.Endpoints) > 1 {
			list = append(list, notice{
				Tone: warn, Title: fmt.Sprintf("The endpoint %s does not answer correctly (%s), so others are used", e.Address, e.Fault), Text: e.Error,
				Hint: "check the node's services pveproxy and pvedaemon, its certificate and its network; it is used again after it has answered three probes", Since: timeView{e.Since, now},
			})
		}
	}
	for _, late := range r.Late {
		title := "Proxmox answers late, so the agent goes on with what it knows"
		if late.Component == report.ComponentSource {
			title = "No remote answers in time, so the agent goes on with the accepted revision"
		}
		list = append(list, notice{
			Tone: warn, Title: title, Text: late.Text(now), Since: timeView{late.Since, now},
		})
	}
	if r.Proxmox.HAError != "" {
		list = append(list, notice{
			Tone: warn, Title: "The HA manager's resources could not be read", Text: r.Proxmox.HAError,
			Hint: "give the token Sys.Audit on /; until then the agent changes no HA entry",
		})
	}
	if vmlist := r.Proxmox.VMList; vmlist != nil && vmlist.Error != "" {
		list = append(list, notice{
			Tone: idle, Title: "Proxmox's list of guests is not used, so the agent reads every guest in turn", Text: vmlist.Error,
			Hint: "see proxmox.vmlist_file in the agent's config", Since: timeView{vmlist.ReadAt, now},
		})
	}
	if r.Journal.Error != "" && r.Writes.Reason != reason.StopJournal {
		list = append(list, notice{Tone: bad, Title: words.Titled("The journal cannot be written", string(r.Journal.Reason)), Text: r.Journal.Error})
	}
	for _, e := range r.Proxmox.Endpoints {
		if e.ClockDiffers() {
			list = append(list, notice{
				Tone: warn, Title: "The clock of this host and that of a node differ", Text: words.Sentence(e.ClockText()),
				Hint: "synchronize both clocks; windows, suspensions and the expiry of approvals follow the clock of this host",
			})
		}
	}
	return list
}

// guestNotices returns one notice for each kind of problem that guests have.
func guestNotices(r report.Report) []notice {
	has := func(types ...plan.ConditionType) func(report.Guest) bool {
		return func(g report.Guest) bool {
			return slices.ContainsFunc(g.Conditions, func(c plan.Condition) bool { return slices.Contains(types, c.Type) })
		}
	}
	isHeld := func(n reason.Notice) func(report.Guest) bool {
		return func(g report.Guest) bool {
			return slices.ContainsFunc(g.Held, func(h report.HeldStep) bool { return h.Reason.Row().Notice == n })
		}
	}
	inProgress := func(g report.Guest) bool {
		return g.Sync == report.OutOfSync && (g.Operation == report.Busy || g.Operation == report.Waiting && len(g.Held) == 0)
	}
	stale := func(g report.Guest) bool { return g.Stale && !has(plan.NotObserved)(g) }
	type counted struct {
		severity reason.Severity
		reason.Notice
		matches func(report.Guest) bool
	}
	var kinds []counted
	for _, n := range reason.HoldNotices() {
		kinds = append(kinds, counted{reason.SeverityWarning, n, isHeld(n)})
	}
	for _, row := range reason.Types() {
		if row.Notice != (reason.Notice{}) {
			kinds = append(kinds, counted{row.Severity, row.Notice, has(row.Type)})
		}
	}
	kinds = append(kinds,
		counted{reason.SeverityWarning, reason.Notice{One: "1 guest was not read for too long", Many: "%d guests were not read for too long"}, stale},
		counted{reason.SeverityProgress, reason.Notice{One: "1 guest is being brought in sync", Many: "%d guests are being brought in sync"}, inProgress})
	var list []notice
	for _, kind := range kinds {
		labels := matchingLabels(r.Guests, kind.matches)
		switch n := len(labels); n {
		case 0:
		case 1:
			list = append(list, notice{Tone: toneOf(kind.severity), Title: kind.One, Guests: labels})
		default:
			list = append(list, notice{Tone: toneOf(kind.severity), Title: fmt.Sprintf(kind.Many, n), Guests: labels[:min(n, maxLinks)]})
		}
	}
	return list
}

func matchingLabels(guests []report.Guest, matches func(report.Guest) bool) []string {
	var labels []string
	for _, g := range guests {
		if matches(g) {
			labels = append(labels, g.Label())
		}
	}
	return labels
}
