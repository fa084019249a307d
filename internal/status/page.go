package status

import (
	"fmt"
	"net/http"
	"time"

	"gitops-agent/internal/status/page"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/selection"
)

// maxRendering bounds the pages that are rendered at the same time, because a page of a large fleet takes memory and processor time.
const maxRendering = 2

// How many entries of the journal a page shows.
const (
	shownRevisions = 10
	shownSteps     = 20
	shownHistory   = 50
)

// servePage sends the overview. Requests without parameters share one rendering of each report. Links of older releases to a guest lead to its page.
func (s *site) servePage(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if label := query.Get("guest"); label != "" {
		w.Header().Set("Location", "guests/"+label) // relative, for reverse proxies
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	report := s.opts.Report()
	render := func() reply {
		in := s.input(report, r)
		in.Steps, in.Revisions = s.opts.History.Steps(shownSteps), s.opts.History.Revisions(shownRevisions)
		return s.render(page.Overview, in)
	}
	switch plain := len(query); {
	case plain == 0:
		s.sendPage(w, r, s.reloading.get(editionOf(report), render))
	case plain == 1 && query.Get("refresh") == "off":
		s.sendPage(w, r, s.paused.get(editionOf(report), render))
	default:
		s.sendPage(w, r, render())
	}
}

// serveGraph sends the page of dependencies.
func (s *site) serveGraph(w http.ResponseWriter, r *http.Request) {
	s.sendPage(w, r, s.render(page.Graph, s.input(s.opts.Report(), r)))
}

// serveGuest sends the page of a guest, which the path names by its vmid, or by kind and name.
func (s *site) serveGuest(w http.ResponseWriter, r *http.Request) {
	in := s.input(s.opts.Report(), r)
	g := page.GuestInput{Name: r.PathValue("ref"), Root: "../"}
	if kind := r.PathValue("kind"); kind != "" {
		g.Name, g.Root = kind+"/"+g.Name, "../../"
	}
	if found, ok := in.Report.Find(g.Name); ok {
		g.Guest, g.Values, g.History = &found, s.opts.Values(found), s.opts.History.Entries(found.Label(), found.VMID, shownHistory)
	}
	reply := s.render(func(in page.Input) ([]byte, error) { return page.Guest(in, g) }, in)
	if g.Guest == nil {
		reply.status = http.StatusNotFound
	}
	s.sendPage(w, r, reply)
}

// input returns what every page shows.
func (s *site) input(r report.Report, request *http.Request) page.Input {
	now := time.Now()
	query := request.URL.Query()
	in := page.Input{
		Report: r, Now: now, Version: s.opts.Version, Edition: editionOf(r).String(), Stuck: s.stuckReason(r, now), Paused: query.Get("refresh") == "off", Links: s.opts.Links, Target: s.opts.Target,
	}
	var err error
	if in.Selection, err = selection.Parse(query.Get); err != nil {
		in.Wrong = err.Error()
	}
	return in
}

// render renders a page, a few at the same time.
func (s *site) render(render func(page.Input) ([]byte, error), in page.Input) reply {
	s.rendering <- struct{}{}
	defer func() { <-s.rendering }()
	body, err := render(in)
	if err != nil {
		return reply{err: err}
	}
	return newReply("text/html; charset=utf-8", body)
}

func (s *site) sendPage(w http.ResponseWriter, r *http.Request, page reply) {
	if page.err != nil {
		s.opts.Logger.ErrorContext(r.Context(), "page not written", "error", page.err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	page.send(w, r)
}

// serveScript sends the script of the pages.
func serveScript(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, _ = w.Write(page.Script)
}

// String returns the edition as one word.
func (e edition) String() string {
	return fmt.Sprintf("%d-%d", e.cycle, e.time.UnixNano())
}
