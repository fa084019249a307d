package status

import (
	"encoding/json"
	"net/http"

	"gitops-agent/reconcile/report"
)

// serveJSON writes the report as a JSON document.
func (s *site) serveJSON(w http.ResponseWriter, r *http.Request) {
	body, err := json.MarshalIndent(report.NewDocument(s.opts.Report()), "", "  ")
	if err != nil {
		s.opts.Logger.ErrorContext(r.Context(), "status not written", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n'))
}
