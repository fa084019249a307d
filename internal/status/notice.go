package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// notice is something that somebody should know, most urgent first.
type notice struct {
	Tone   tone
	Title  string
	Text   string
	Hint   string
	Since  moment
	Guests []string // labels
}

// maxLinks bounds the guests that a notice names; the table below has them all.
const maxLinks = 12

// notices returns everything worth a line above the table. A fleet where all is well has one that says so.
func notices(r report.Report, now time.Time) []notice {
	if r.Time.IsZero() {
		return []notice{{Tone: busy, Title: "Starting", Text: "The first cycle has not ended yet."}}
	}
	var list []notice
	list = append(list, stopNotices(r)...)
	list = append(list, sourceNotices(r, now)...)
	list = append(list, troubleNotices(r, now)...)
	list = append(list, guestNotices(r)...)
	slices.SortStableFunc(list, func(a, b notice) int { return severity(a.Tone) - severity(b.Tone) })
	if r.Converged {
		list = append(list, notice{Tone: good, Title: convergedTitle(r)})
	}
	return append(list, warningNotices(r)...)
}

func severity(t tone) int { return slices.Index([]tone{bad, warn, busy, idle, good}, t) }

func convergedTitle(r report.Report) string {
	what := "the accepted revision"
	if a := r.Source.Accepted; a != nil {
		what = r.Source.Branch + "@" + short(a.Commit)
	}
	switch len(r.Guests) {
	case 0:
		return "Nothing to keep: " + what + " names no guest"
	case 1:
		return "The one guest is as " + what + " says"
	default:
		return fmt.Sprintf("All %d guests are as %s says", len(r.Guests), what)
	}
}

// stopNotices tells why nothing is written.
func stopNotices(r report.Report) []notice {
	n := notice{Tone: bad, Title: "Nothing is written to the cluster", Text: r.Writes.Message}
	if r.Writes.Allowed {
		return nil
	}
	switch r.Writes.Reason {
	case gate.StopNoRevision:
		n.Tone, n.Title, n.Text = idle, "No revision accepted yet", "The cluster is left as it is: "+noRevision(r)+"."
	case gate.StopDryRun:
		n.Tone, n.Title, n.Text = idle, "Dry run", "The agent plans and reports, and writes nothing."
	case gate.StopJournal:
		n.Title, n.Hint = "The journal takes no records, so nothing is written to the cluster", "free the disk, or see gitops-agent journal repair"
	case gate.StopNotReady:
		n.Title, n.Hint = "The cluster cannot be written to", "the last good state holds; work goes on when the cluster answers and has quorum"
	case gate.StopUnverified:
		n.Title, n.Hint = "The accepted revision does not verify any more", "look at the trusted root and the policy; a newly signed commit on top is accepted under them"
	case gate.StopClosing:
		n.Tone, n.Title = busy, "The agent is stopping"
	case gate.WritesAllowed:
	}
	return []notice{n}
}

// sourceNotices tells of a refused head and of a remote that does not answer.
func sourceNotices(r report.Report, now time.Time) []notice {
	var list []notice
	holds := "No revision is in force."
	if a := r.Source.Accepted; a != nil {
		holds = "The last good state holds: " + r.Source.Branch + "@" + short(a.Commit) + "."
	}
	if refused := r.Source.Refused; refused != nil {
		list = append(list, notice{
			Tone: bad, Title: fmt.Sprintf("Revision %s is refused: %s", short(refused.Commit), refused.Reason),
			Text: refused.Error + "\n" + holds, Hint: refused.Hint, Since: moment{refused.Since, now},
		})
	}
	if r.Source.Error != "" {
		list = append(list, notice{
			Tone: warn, Title: "The remote could not be read", Text: r.Source.Error + "\n" + holds, Since: moment{r.Source.LastSuccess, now},
		})
	}
	return list
}

// warningNotices tells what the manifests in force may not mean.
func warningNotices(r report.Report) []notice {
	if a := r.Source.Accepted; a != nil && len(a.Warnings) > 0 {
		return []notice{{Tone: warn, Title: "The manifests have warnings", Text: strings.Join(a.Warnings, "\n")}}
	}
	return nil
}

// troubleNotices tells of a cluster and a journal in doubt, where the state of writing does not say so already.
func troubleNotices(r report.Report, now time.Time) []notice {
	var list []notice
	if r.Proxmox.Error != "" && r.Writes.Reason != gate.StopNotReady {
		list = append(list, notice{
			Tone: warn, Title: "The cluster was not read in full", Text: r.Proxmox.Error, Since: moment{r.Proxmox.LastSuccess, now},
		})
	}
	if r.Proxmox.HAError != "" {
		list = append(list, notice{
			Tone: warn, Title: "The HA manager's resources could not be read", Text: r.Proxmox.HAError, Hint: "the token needs Sys.Audit on /; no HA entry is changed meanwhile",
		})
	}
	if vmlist := r.Proxmox.VMList; vmlist != nil && vmlist.Error != "" {
		list = append(list, notice{
			Tone: idle, Title: "Proxmox's list of guests is not believed, so every guest is read in turn", Text: vmlist.Error, Hint: "see proxmox.vmlist_file of the config",
			Since: moment{vmlist.ReadAt, now},
		})
	}
	if r.Journal.Error != "" && r.Writes.Reason != gate.StopJournal {
		list = append(list, notice{Tone: bad, Title: "The journal takes no records", Text: r.Journal.Error})
	}
	return list
}

// guestNotices sums up what stands in the way of guests.
func guestNotices(r report.Report) []notice {
	has := func(types ...plan.ConditionType) func(report.Guest) bool {
		return func(g report.Guest) bool {
			return slices.ContainsFunc(g.Conditions, func(c plan.Condition) bool { return slices.Contains(types, c.Type) })
		}
	}
	holds := func(reasons ...gate.HoldReason) func(report.Guest) bool {
		return func(g report.Guest) bool {
			return slices.ContainsFunc(g.Held, func(h report.HeldStep) bool { return slices.Contains(reasons, h.Reason) })
		}
	}
	guarded := holds(gate.HoldDenied, gate.HoldDestroyLimit, gate.HoldEmptyDesired)
	working := func(g report.Guest) bool {
		return g.Sync == report.OutOfSync && (g.Operation == report.Busy || g.Operation == report.Waiting && len(g.Held) == 0)
	}
	old := func(g report.Guest) bool { return g.Stale && !has(plan.NotObserved)(g) }
	var list []notice
	for _, kind := range []struct {
		tone      tone
		one, many string
		of        func(report.Guest) bool
	}{
		{bad, "1 guest could not be brought in sync", "%d guests could not be brought in sync", has(plan.Failed)},
		{bad, "1 guest is not the one that it should be", "%d guests are not the ones that they should be", has(plan.IdentityConflict)},
		{warn, "1 guest waits for a signed approval", "%d guests wait for a signed approval", holds(gate.HoldApproval)},
		{warn, "1 guest is kept by a guard against destroying", "%d guests are kept by a guard against destroying", guarded},
		{warn, "1 guest is blocked", "%d guests are blocked", has(plan.Blocked)},
		{warn, "1 guest could not be read", "%d guests could not be read", has(plan.NotObserved)},
		{warn, "1 guest was not read for too long", "%d guests were not read for too long", old},
		{idle, "1 guest needs a restart", "%d guests need a restart", has(plan.PendingRestart)},
		{busy, "1 guest is being brought in sync", "%d guests are being brought in sync", working},
	} {
		named := labels(r.Guests, kind.of)
		switch n := len(named); n {
		case 0:
		case 1:
			list = append(list, notice{Tone: kind.tone, Title: kind.one, Guests: named})
		default:
			list = append(list, notice{Tone: kind.tone, Title: fmt.Sprintf(kind.many, n), Guests: named[:min(n, maxLinks)]})
		}
	}
	return list
}

func labels(guests []report.Guest, of func(report.Guest) bool) []string {
	var labels []string
	for _, g := range guests {
		if of(g) {
			labels = append(labels, g.Label())
		}
	}
	return labels
}
