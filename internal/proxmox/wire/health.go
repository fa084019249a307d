package wire

import (
	"maps"
	"net/url"
	"time"

	"gitops-agent/reconcile/cluster"
)

// Hysteresis: how soon an endpoint goes down, and what brings it up again.
const (
	faultsUntilDown = 2 // in a row; some faults count at once
	repliesUntilUp  = 3 // in a row
)

// Times between two probes of an endpoint that is down: after a good probe, after the first failed one, and at most.
const (
	probeSoon  = 2 * time.Second
	probeFirst = 5 * time.Second
	probeLast  = time.Minute
)

// endpointHealth is one node of the cluster, and what is known about its API.
type endpointHealth struct {
	url      *url.URL
	state    cluster.EndpointState
	since    time.Time
	inRow    int // faults in a row while up, good replies in a row while down
	fault    cluster.EndpointFault
	problem  string
	minority bool // its part of the cluster had no quorum since it went down
	faults   map[cluster.EndpointFault]uint64
	extra    map[cluster.ExtraReadReason]uint64
	probing  bool
	probeAt  time.Time
	interval time.Duration // until the next probe
	ahead    time.Duration // of the node's clock, as cluster.Endpoint.ClockAhead
}

func newEndpoint(u *url.URL) *endpointHealth {
	return &endpointHealth{
		url: u, state: cluster.EndpointUnknown, faults: make(map[cluster.EndpointFault]uint64), extra: make(map[cluster.ExtraReadReason]uint64),
	}
}

// isDown reports whether other endpoints are preferred.
func (e *endpointHealth) isDown() bool { return e.state == cluster.EndpointDown }

// succeeded notes a good reply. An endpoint that is down needs several of them, unless no other endpoint is up. It returns whether the endpoint came up.
func (e *endpointHealth) succeeded(now time.Time, last bool) (cameUp bool) {
	if e.isDown() {
		e.inRow++
		e.probeAt, e.interval = now.Add(probeSoon), probeFirst
		if e.inRow < repliesUntilUp && !last {
			return false
		}
	}
	cameUp = e.isDown()
	if e.state != cluster.EndpointUp {
		e.state, e.since, e.minority = cluster.EndpointUp, now, false
	}
	e.inRow = 0
	return cameUp
}

// failed notes a fault. It returns whether the endpoint went down. All faults until the next probe is due are one step of the interval: as many requests as
// were in flight meet the same disturbance.
func (e *endpointHealth) failed(now time.Time, fault cluster.EndpointFault, problem string) (wentDown bool) {
	e.fault, e.problem = fault, problem
	e.faults[fault]++
	e.minority = e.minority || fault == cluster.FaultNoQuorum
	if e.isDown() {
		e.inRow = 0
		if now.Before(e.probeAt) {
			return false
		}
		e.interval = min(max(2*e.interval, probeFirst), probeLast)
		e.probeAt = now.Add(e.interval)
		return false
	}
	e.inRow++
	if e.inRow < faultsUntilDown && !countsAtOnce(fault) {
		return false
	}
	e.state, e.since, e.inRow = cluster.EndpointDown, now, 0
	e.interval = probeFirst
	e.probeAt = now.Add(e.interval)
	return true
}

// countsAtOnce reports whether one fault is enough. Most of these delay each read that meets them by seconds. Proxmox delays status 401 by 3 s.
func countsAtOnce(fault cluster.EndpointFault) bool {
	switch fault {
	case cluster.FaultUnreachable, cluster.FaultLate, cluster.FaultUnauthorized:
		return true
	case cluster.FaultNoQuorum:
		return true // it costs no time, but every other reply of the endpoint may be old
	case cluster.FaultBroken, cluster.FaultInvalid, cluster.FaultStatus:
	}
	return false
}

// Report returns the state as a value.
func (e *endpointHealth) report(current bool) cluster.Endpoint {
	return cluster.Endpoint{
		Address: e.url.Host, State: e.state, Since: e.since, Current: current, Fault: e.fault, Error: e.problem,
		Faults: maps.Clone(e.faults), ExtraReads: maps.Clone(e.extra), ClockAhead: e.ahead.Seconds(),
	}
}
