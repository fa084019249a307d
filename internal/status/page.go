package status

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page and its style
	"encoding/base64"
	"html/template"
	"net/http"
	"time"
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

func (s *site) servePage(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	report := s.opts.Report()
	v := newView(report, now)
	v.Version = s.opts.Version
	if reason := s.stuckReason(report, now); reason != "" {
		v.Notices = append([]notice{{
			Tone: bad, Title: "The agent seems to be stuck", Text: sentence(reason), Hint: "read its log; this page shows the state after its last cycle",
		}}, v.Notices...)
	}
	query := r.URL.Query()
	v.selectGuest(query.Get("guest"), now)
	if query.Get("refresh") != "off" {
		v.Refresh = refreshEvery
	}
	var body bytes.Buffer
	if err := s.page.Execute(&body, v); err != nil {
		s.opts.Logger.ErrorContext(r.Context(), "page not written", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(body.Bytes())
}
