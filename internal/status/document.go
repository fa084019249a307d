package status

import (
	"encoding/json"
	"math"
	"net/http"
	"time"

	"gitops-agent/reconcile/report"
)

// maxDocumentAge does not bound the age of a document: it contains no ages, so it is good as long as the report is the newest one.
const maxDocumentAge = time.Duration(math.MaxInt64)

// serveJSON writes the report as a JSON document, which is rendered once for each report.
func (s *site) serveJSON(w http.ResponseWriter, r *http.Request) {
	newest := s.opts.Report()
	document := s.document.get(editionOf(newest), func() reply {
		body, err := json.MarshalIndent(report.NewDocument(newest), "", "  ")
		if err != nil {
			return reply{err: err}
		}
		return newReply("application/json", append(body, '\n'))
	})
	if document.err != nil {
		s.opts.Logger.ErrorContext(r.Context(), "status not written", "error", document.err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	document.send(w, r)
}
