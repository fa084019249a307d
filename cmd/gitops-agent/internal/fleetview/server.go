package fleetview

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"gitops-agent/internal/fleet"
	"gitops-agent/internal/status"
	"gitops-agent/internal/status/access"
	"gitops-agent/internal/status/page"
)

// Server keeps the newest rows of a fleet, and serves them. A request reads no agent.
type Server struct {
	Targets  func() ([]Target, error) // is called before each reading; after an error the targets of before stay in use
	Interval time.Duration            // between two readings
	Version  string
	Logger   *slog.Logger

	newest atomic.Pointer[reading]
}

// reading is what one round of Poll returned.
type reading struct {
	rows    []fleet.Row
	at      time.Time
	problem string // why the newest file of targets is not used
}

// Serve reads the agents and answers requests on the listener until ctx ends.
func (s *Server) Serve(ctx context.Context, listener net.Listener, guard *access.Access) error {
	var reading sync.WaitGroup
	defer reading.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reading.Go(func() { s.run(ctx) })
	return status.Serve(ctx, guard.Listener(listener), s.handler(guard), status.NewConnections(status.ConnectionOptions{Logger: s.Logger}))
}

// run reads the agents until ctx ends.
func (s *Server) run(ctx context.Context) {
	var targets []Target
	tick := time.NewTicker(s.Interval)
	defer tick.Stop()
	for {
		problem := ""
		if newest, err := s.Targets(); err == nil {
			targets = newest
		} else {
			problem = err.Error()
			s.Logger.WarnContext(ctx, "file of targets not used", "error", err)
		}
		rows := Poll(ctx, targets, nil)
		if ctx.Err() != nil {
			return
		}
		s.newest.Store(&reading{rows, time.Now(), problem})
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// handler returns a handler for GET /, /fleet.json and /healthz.
func (s *Server) handler(guard *access.Access) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.HandleFunc("GET /fleet.json", s.serveJSON)
	mux.HandleFunc("GET /healthz", s.serveHealth)
	return status.Secure(guard.Handler(mux, access.Exempt{Probes: []string{"/healthz"}}), s.Logger)
}

// current returns the newest reading, and an empty one before the first.
func (s *Server) current() reading {
	if r := s.newest.Load(); r != nil {
		return *r
	}
	return reading{}
}

func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	now := s.current()
	body, err := page.Fleet(page.FleetInput{Rows: now.rows, ReadAt: now.at, Now: time.Now(), Version: s.Version, Problem: now.problem})
	s.send(w, r, "text/html; charset=utf-8", body, err)
}

func (s *Server) serveJSON(w http.ResponseWriter, r *http.Request) {
	now := s.current()
	body, err := json.MarshalIndent(NewDocument(now.rows, now.at), "", "  ")
	s.send(w, r, "application/json", append(body, '\n'), err)
}

func (s *Server) send(w http.ResponseWriter, r *http.Request, contentType string, body []byte, err error) {
	if err != nil {
		s.Logger.ErrorContext(r.Context(), "fleet not written", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(body)
}

// healthy is how old the newest reading may be, in intervals, before the server counts as stuck.
const healthy = 4

func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	at := s.current().at
	if at.IsZero() || time.Since(at) > healthy*s.Interval+time.Minute {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("not ok: the agents were not read\n"))
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}
