package status

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/report"
)

// serveHealth answers whether the process does its rounds. It says nothing about the cluster: restarting the agent would not mend that.
func (s *site) serveHealth(w http.ResponseWriter, _ *http.Request) {
	if why := s.stuck(s.opts.Report(), time.Now()); why != "" {
		writeProbe(w, []string{"cycle: " + why})
		return
	}
	writeProbe(w, nil)
}

// serveReady answers whether the agent can do its job now, with a line for each reason why not.
func (s *site) serveReady(w http.ResponseWriter, _ *http.Request) {
	r := s.opts.Report()
	var reasons []string
	if why := s.stuck(r, time.Now()); why != "" {
		reasons = append(reasons, "cycle: "+why)
	}
	writeProbe(w, append(reasons, unready(r)...))
}

// stuck returns why the engine does not seem to cycle, or "".
func (s *site) stuck(r report.Report, now time.Time) string {
	last := r.Time
	if last.IsZero() {
		last = s.started
	}
	age := now.Sub(last)
	if age <= s.opts.StaleAfter {
		return ""
	}
	if r.Time.IsZero() {
		return fmt.Sprintf("none has ended in the %s since the start", span(age))
	}
	return fmt.Sprintf("the last one ended %s ago", span(age))
}

// unready returns what stands between the agent and its job.
func unready(r report.Report) []string {
	var reasons []string
	switch {
	case r.Source.Accepted == nil:
		reasons = append(reasons, "revision: none accepted yet: "+noRevision(r))
	case r.Writes.Reason == gate.StopUnverified:
		reasons = append(reasons, "revision: the accepted one does not verify any more: "+r.Writes.Message)
	}
	if !r.Proxmox.Ready {
		reasons = append(reasons, "cluster: "+orElse(r.Proxmox.Error, "not asked yet"))
	}
	if !r.Journal.Healthy {
		reasons = append(reasons, "journal: "+orElse(r.Journal.Error, "not looked at yet"))
	}
	return reasons
}

// noRevision says why no revision is in force.
func noRevision(r report.Report) string {
	switch {
	case r.Source.Refused != nil:
		return fmt.Sprintf("the head %s is refused (%s)", short(r.Source.Refused.Commit), r.Source.Refused.Reason)
	case r.Source.Error != "":
		return "the remote could not be read: " + r.Source.Error
	case r.Source.Head == "":
		return "the remote has not been read so far"
	default:
		return "the head is not checked so far"
	}
}

// writeProbe writes 200 and "ok", or 503 and one line for each reason.
func writeProbe(w http.ResponseWriter, reasons []string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if len(reasons) == 0 {
		_, _ = w.Write([]byte("ok\n"))
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	for _, reason := range reasons {
		_, _ = w.Write([]byte(oneLine(reason) + "\n"))
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
