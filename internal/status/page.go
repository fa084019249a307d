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

// refreshEvery is the time between reloads that the page asks for, in seconds. No link leads to a place
// within the page: browsers take the reload of such an address for a jump within it, and would show old news from then on.
const refreshEvery = 10

// page renders views.
type page struct{ template *template.Template }

func newPage() page {
	return page{template.Must(template.New("page").Parse(pageText))}
}

// policy returns the Content-Security-Policy: nothing but the page's own style, told by its hash.
func (page) policy() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// Style returns the page's own style sheet, for the template.
func (view) Style() template.CSS {
	return template.CSS(pageStyle) //nolint:gosec // a file of this folder, not input
}

func (s *site) servePage(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	report := s.opts.Report()
	v := newView(report, now)
	v.Version = s.opts.Version
	if why := s.stuck(report, now); why != "" {
		v.Notices = append([]notice{{Tone: bad, Title: "The agent does not seem to work", Text: "Of its cycles, " + why + ".", Hint: "look at its log; what this page shows is that old"}}, v.Notices...)
	}
	query := r.URL.Query()
	v.choose(query.Get("guest"), now)
	if query.Get("refresh") != "off" {
		v.Refresh = refreshEvery
	}
	var body bytes.Buffer
	if err := s.page.template.Execute(&body, v); err != nil {
		s.opts.Logger.ErrorContext(r.Context(), "page not written", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(body.Bytes())
}
