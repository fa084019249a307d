package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"sync"
	"time"

	"gitops-agent/reconcile/history"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/selection"
)

//go:embed *.html
var templateFiles embed.FS

//go:embed page.css
var pageStyle string

// Script is the file page.js. It keeps a page up to date and applies the form without a reload; every page works without it.
//
//go:embed page.js
var Script []byte

// refreshEvery is the interval at which a browser without scripts reloads the page, in seconds. The page has no link to an anchor within itself:
// browsers treat the reload of such an address as a jump within the page, and would show old content from then on.
const refreshEvery = 10

// templates returns the parsed templates. They are parsed at the first page, and not at the start of every command.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(templateFiles, "*.html"))
})

// Policy returns the Content-Security-Policy. It allows the pages' own style sheet, identified by its hash, and what this host serves: the script, its
// requests and the form.
func Policy() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// Input is what every page shows.
type Input struct {
	Report    report.Report
	Steps     []history.Entry    // the newest steps of all guests, newest first
	Revisions []history.Revision // newest first
	Now       time.Time
	Version   string // of the agent
	Edition   string // identifies the report, for the script
	Stuck     string // why the engine seems to be stuck, "" if it does not
	Selection selection.Selection
	Wrong     string // what is wrong with the parameters of the selection
	Paused    bool   // the page stays as it is
	Links     Links
	Target    string // value of the trailer Gitops-Target that commits need, "" if they need none
}

// Overview renders the page of all guests.
func Overview(in Input) ([]byte, error) {
	v := newOverview(in)
	return render("overview.html", &v)
}

// GuestInput is what the page of a guest shows in addition.
type GuestInput struct {
	Name    string        // as the request names the guest
	Root    string        // relative path from the page to the overview
	Guest   *report.Guest // nil if there is none
	Values  []report.Value
	History []history.Entry // newest first
}

// Guest renders the page of one guest.
func Guest(in Input, g GuestInput) ([]byte, error) {
	return render("guest.html", newGuestPage(in, g))
}

// Graph renders the dependencies of the selected guests.
func Graph(in Input) ([]byte, error) {
	return render("graph.html", newGraphPage(in))
}

func render(name string, v any) ([]byte, error) {
	var body bytes.Buffer
	err := templates().ExecuteTemplate(&body, name, v)
	return body.Bytes(), err
}
