package wire

import (
	"net/http"
	"time"
)

// Every reply has the time of the node that sent it, in whole seconds.
//
// Source: pve-http-server, PVE/APIServer/AnyEvent.pm, response.

// clockAhead returns by how much the clock that wrote a reply is ahead of this one, at least, negative if it is behind. It is 0 if both clocks may be equal. Known is false if the reply has no time.
func clockAhead(header http.Header, sent, received time.Time) (ahead time.Duration, known bool) {
	text := header.Get("Date")
	if text == "" {
		return 0, false
	}
	date, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	// The time was read between both of these by this clock, and the second that it names has begun and not ended.
	least, most := date.Sub(received.Round(0)), date.Add(time.Second).Sub(sent.Round(0))
	switch {
	case least > 0:
		return least, true
	case most < 0:
		return most, true
	}
	return 0, true
}

// noteClock notes what a reply shows of the clock of its endpoint.
func (e *endpoints) noteClock(at int, header http.Header, sent, received time.Time) {
	ahead, known := clockAhead(header, sent, received)
	if !known {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list[at].ahead = ahead
}
