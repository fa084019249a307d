package status

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page and its style
	"encoding/base64"
	"html/template"
	"net/http"
	"time"

	"gitops-agent/reconcile/report"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

// refreshEvery is the interval at which the browser reloads the page, in seconds. The page has no link to an anchor within itself:
// browsers treat the reload of such an address as a jump within the page, and would show old content from then on.
const refreshEvery = 10

func newPageTemplate() *template.Template {
	return template.Must(template.New("page").Parse(pageText))
}

// contentSecurityPolicy returns the Content-Security-Policy. It allows only the page's own style sheet, identified by its hash.
func contentSecurityPolicy() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// Style returns the page's style sheet, for the template.
func (view) Style() template.CSS {
	return template.CSS(pageStyle) //nolint:gosec // a file of this folder, not input
}

// maxRendering bounds the pages that are rendered at the same time, because a page of a large fleet takes memory and processor time.
const maxRendering = 2

// servePage sends the page. Requests without a selected guest share one rendering of each report.
func (s *site) servePage(w http.ResponseWriter, r *http.Request) {
	report := s.opts.Report()
	query := r.URL.Query()
	label, reloads := query.Get("guest"), query.Get("refresh") != "off"
	render := func() reply { return s.renderPage(report, label, reloads) }
	var page reply
	switch {
	case label != "":
		page = render()
	case reloads:
		page = s.reloading.get(editionOf(report), render)
	default:
		page = s.paused.get(editionOf(report), render)
	}
	if page.err != nil {
		s.opts.Logger.ErrorContext(r.Context(), "page not written", "error", page.err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	page.send(w, r)
}

// renderPage renders a report, with the guest of a label above the table unless the label is empty.
func (s *site) renderPage(r report.Report, label string, reloads bool) reply {
	s.rendering <- struct{}{}
	defer func() { <-s.rendering }()
	now := time.Now()
	v := newView(r, now)
	v.Version = s.opts.Version
	if reason := s.stuckReason(r, now); reason != "" {
		v.Notices = append([]notice{{
			Tone: bad, Title: "The agent seems to be stuck", Text: sentence(reason), Hint: "read its log; this page shows the state after its last cycle",
		}}, v.Notices...)
	}
	v.selectGuest(label, now)
	if reloads {
		v.Refresh = refreshEvery
	}
	var body bytes.Buffer
	if err := s.page.Execute(&body, v); err != nil {
		return reply{err: err}
	}
	return newReply("text/html; charset=utf-8", body.Bytes())
}
