package page

import (
	"strconv"

	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// tone is the colour of a word on the page. The word itself has the same meaning, so the colour is never the only indication.
type tone string

const (
	good tone = "good"
	busy tone = "busy"
	warn tone = "warn"
	bad  tone = "bad"
	idle tone = "idle"
)

// badge is a word with its colour.
type badge struct {
	Tone  tone
	Text  string
	Title string // tooltip
}

// syncBadge returns the sync state of a guest, with what it lacks although it is in sync.
func syncBadge(g report.Guest) badge {
	b := badge{Tone: idle, Text: string(g.Sync)}
	if except := g.Except(); except != nil {
		return badge{warn, "Synced, except " + strconv.Itoa(except.Root+except.Firewall), "in sync " + except.String()}
	}
	switch g.Sync {
	case report.Synced:
		b.Tone = good
	case report.OutOfSync:
		b.Tone, b.Text = warn, "Out of sync"
	case report.SyncUnknown:
	}
	return b
}

func healthBadge(h report.Health) badge {
	b := badge{Tone: idle, Text: string(h)}
	switch h {
	case report.Healthy:
		b.Tone = good
	case report.Progressing:
		b.Tone = busy
	case report.Degraded, report.Missing:
		b.Tone = bad
	case report.HealthSuspended, report.HealthUnknown:
	}
	return b
}

func operationBadge(g report.Guest) badge {
	b := badge{Tone: idle, Text: g.OperationText()}
	switch g.Operation {
	case report.Busy:
		b.Tone = busy
	case report.Waiting:
		b.Tone = warn
	case report.Idle:
	}
	return b
}

func conditionBadge(c plan.Condition) badge {
	return badge{Tone: toneOf(reason.SeverityOf(c.Type, c.Reason)), Text: c.Type.Row().Label, Title: c.Message}
}

// toneOf returns the colour of a severity.
func toneOf(s reason.Severity) tone {
	switch s {
	case reason.SeverityError:
		return bad
	case reason.SeverityWarning:
		return warn
	case reason.SeverityProgress:
		return busy
	case reason.SeverityInfo:
		return idle
	}
	return bad
}

// stateBadge returns yes if a part works, no if it does not and its error is known, and "unknown" before the first try.
func stateBadge(works bool, problem, yes, no string) badge {
	switch {
	case works:
		return badge{Tone: good, Text: yes}
	case problem == "":
		return badge{Tone: idle, Text: "unknown"}
	default:
		return badge{Tone: bad, Text: no}
	}
}
