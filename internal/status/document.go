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

// serveJSON writes the report as a JSON document, which is rendered once for each report. The parameter guest selects the document of one guest.
func (s *site) serveJSON(w http.ResponseWriter, r *http.Request) {
	newest := s.opts.Report()
	var document reply
	if name := r.URL.Query().Get("guest"); name != "" {
		g, found := newest.Find(name)
		if !found {
			http.Error(w, "no manifest names this guest, and the agent does not own it", http.StatusNotFound)
			return
		}
		document = renderJSON(report.NewGuestDocument(newest, g, s.opts.Values(g), s.opts.History.Entries(g.Label(), g.VMID, shownHistory)))
	} else {
		document = s.document.get(editionOf(newest), func() reply { return renderJSON(report.NewDocument(newest)) })
	}
	s.sendDocument(w, r, document)
}

// sendDocument sends a rendered document, or status 500.
func (s *site) sendDocument(w http.ResponseWriter, r *http.Request, document reply) {
	if document.err != nil {
		s.opts.Logger.ErrorContext(r.Context(), "document not written", "path", r.URL.Path, "error", document.err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	document.send(w, r)
}

func renderJSON(document any) reply {
	body, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return reply{err: err}
	}
	return newReply("application/json", append(body, '\n'))
}
