package agent

import (
	"time"

	"gitops-agent/internal/status"
)

// isAlive reports whether cycles of the engine end, as /healthz does.
func (a *Agent) isAlive(started time.Time) bool {
	return status.StuckReason(a.Report(), started, a.current.Load().config.staleAfter(), time.Now()) == ""
}
