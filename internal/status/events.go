package status

import (
	"fmt"
	"net/http"
	"time"
)

// Times of a stream of events.
const (
	streamCheck  = time.Second      // between two looks at the newest report
	streamAlive  = 15 * time.Second // between two signs of life
	streamWrite  = 10 * time.Second // within which the client must take an event
	streamLength = time.Hour        // after which the client connects again, and its access is checked again
)

// serveEvents tells a page when there is a newer report, as server-sent events. The page then fetches itself again: an event contains only the edition of the
// report. The number of streams is bounded, since each takes a connection; other clients are asked to try again, and their pages poll meanwhile.
func (s *site) serveEvents(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the request is complete; the deadline would end the stream
	write := func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(streamWrite))
		_, err := w.Write([]byte(text))
		return err == nil && control.Flush() == nil
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // reverse proxies pass each event on at once
	var sent edition
	tick := time.NewTicker(streamCheck)
	defer tick.Stop()
	begun, wrote := time.Now(), time.Time{}
	for first := true; ; first = false {
		now := time.Now()
		switch newest := editionOf(s.opts.Report()); {
		case now.Sub(begun) >= streamLength:
			return
		case first || newest != sent:
			sent, wrote = newest, now
			if !write(fmt.Sprintf("retry: 3000\ndata: %s\n\n", newest)) {
				return
			}
		case now.Sub(wrote) >= streamAlive:
			wrote = now
			if !write(": alive\n\n") {
				return
			}
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}
