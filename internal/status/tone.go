package status

import "gitops-agent/reconcile"

// tone is how the page colours a word. The word itself says the same, so that colour is never the only sign.
type tone string

const (
	good tone = "good"
	busy tone = "busy"
	warn tone = "warn"
	bad  tone = "bad"
	idle tone = "idle"
)

// badge is a word with its tone.
type badge struct {
	Tone  tone
	Text  string
	Title string // said when somebody points at it
}

func syncBadge(s reconcile.Sync) badge {
	b := badge{Tone: idle, Text: string(s)}
	switch s {
	case reconcile.Synced:
		b.Tone = good
	case reconcile.OutOfSync:
		b.Tone, b.Text = warn, "Out of sync"
	case reconcile.SyncUnknown:
	}
	return b
}

func healthBadge(h reconcile.Health) badge {
	b := badge{Tone: idle, Text: string(h)}
	switch h {
	case reconcile.Healthy:
		b.Tone = good
	case reconcile.Progressing:
		b.Tone = busy
	case reconcile.Degraded, reconcile.Missing:
		b.Tone = bad
	case reconcile.HealthSuspended:
	}
	return b
}

func operationBadge(o reconcile.Operation) badge {
	b := badge{Tone: idle, Text: string(o)}
	switch o {
	case reconcile.Busy:
		b.Tone = busy
	case reconcile.Waiting:
		b.Tone = warn
	case reconcile.Idle:
	}
	return b
}

func conditionBadge(c reconcile.Condition) badge {
	b := badge{Tone: warn, Text: string(c.Type), Title: c.Message}
	switch c.Type {
	case reconcile.Failed:
		b.Tone = bad
	case reconcile.IdentityConflict:
		b.Text, b.Tone = "Identity conflict", bad
	case reconcile.Suspended, reconcile.NotObserved:
		b.Tone = idle
	case reconcile.WaitsFor:
		b.Text, b.Tone = "Waits for another", idle
	case reconcile.PendingRestart:
		b.Text = "Pending restart"
	case reconcile.Leftover:
		b.Text, b.Tone = "Unused volumes", idle
	case reconcile.Warned:
		b.Text = "Warnings"
	case reconcile.Drifted, reconcile.Held, reconcile.Blocked, reconcile.Orphaned:
	}
	return b
}
