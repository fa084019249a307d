package status

import (
	"encoding/json"
	"net/http"

	"gitops-agent/reconcile/report"
)

// SchemaVersion is that of Document. It grows when a field changes its meaning or goes; new fields leave it as it is.
const SchemaVersion = 1

// Document is what /status.json serves: the report with the version of its schema beside its fields.
type Document struct {
	SchemaVersion int `json:"schemaVersion"`
	report.Report
}

// NewDocument returns the report as a document. Lists are never null.
func NewDocument(r report.Report) Document {
	if r.Guests == nil {
		r.Guests = []report.Guest{}
	}
	if r.Unmanaged == nil {
		r.Unmanaged = []report.GuestName{}
	}
	return Document{SchemaVersion: SchemaVersion, Report: r}
}

func (s *site) serveJSON(w http.ResponseWriter, r *http.Request) {
	body, err := json.MarshalIndent(NewDocument(s.opts.Report()), "", "  ")
	if err != nil {
		s.opts.Logger.ErrorContext(r.Context(), "status not written", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n'))
}
