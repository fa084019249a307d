package metrics

import (
	"slices"

	"gitops-agent/reconcile/cluster"
)

// codes returns the status codes of the Proxmox API, "none" for a request without a reply, and "other". A proxy cannot add label values,
// because each other code is counted as "other".
//
// Source: PVE API server: 595 means no connection to the node, 596 a broken connection, 599 a failed handshake.
func codes() []string {
	return []string{"200", "400", "401", "403", "404", "500", "501", "502", "503", "504", "595", "596", "599", "none", "other"}
}

// methods returns the methods of the Proxmox API, and "other".
func methods() []string { return []string{"GET", "POST", "PUT", "DELETE", "other"} }

// route is a method and a path of the Proxmox API.
type route struct{ method, path string }

// Request counts one request to the Proxmox API. There must be few routes; Request does not check that. The series of every code exist from the first
// request on a route.
func (m *Metrics) Request(e cluster.Exchange) {
	r := route{oneOf(methods(), e.Method), e.Route}
	if _, known := m.routes.LoadOrStore(r, true); !known {
		for _, code := range codes() {
			m.requests.WithLabelValues(r.method, r.path, code)
		}
	}
	m.requests.WithLabelValues(r.method, r.path, oneOf(codes(), e.Code)).Inc()
	m.requestTime.WithLabelValues(r.method, r.path).Observe(e.Duration.Seconds())
}

// oneOf returns the value if it is in the list, and "other" otherwise.
func oneOf(values []string, value string) string {
	if slices.Contains(values, value) {
		return value
	}
	return "other"
}
