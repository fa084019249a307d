package metrics

import (
	"slices"
	"time"
)

// codes are the status codes that the Proxmox API is known to answer, "none" for a request without a reply, and "other", so that no
// proxy in between can invent labels.
//
// Source: PVE API server: 595 is no connection to the node, 596 a broken one, 599 a failed handshake.
func codes() []string {
	return []string{"200", "400", "401", "403", "404", "500", "501", "502", "503", "504", "595", "596", "599", "none", "other"}
}

// methods are the ones that the Proxmox API has.
func methods() []string { return []string{"GET", "POST", "PUT", "DELETE", "other"} }

// call is what is asked of the Proxmox API.
type call struct{ method, route string }

// Request counts one request to the Proxmox API. Route is the path with its ids replaced, "/nodes/{node}/qemu/{vmid}/config", and must be
// one of few; it is not checked. Every code of a route exists from the route's first request on.
func (m *Metrics) Request(method, route, code string, d time.Duration) {
	c := call{oneOf(methods(), method), route}
	if _, known := m.calls.LoadOrStore(c, true); !known {
		for _, code := range codes() {
			m.requests.WithLabelValues(c.method, c.route, code)
		}
	}
	m.requests.WithLabelValues(c.method, c.route, oneOf(codes(), code)).Inc()
	m.requestTime.WithLabelValues(c.method, c.route).Observe(d.Seconds())
}

// oneOf returns the word if it is of a vocabulary, and "other" if not.
func oneOf(vocabulary []string, word string) string {
	if slices.Contains(vocabulary, word) {
		return word
	}
	return "other"
}
