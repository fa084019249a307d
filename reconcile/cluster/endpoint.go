package cluster

import (
	"fmt"
	"math"
	"time"
)

// Endpoint describes one node of the cluster whose API the agent uses, and whether the agent prefers other endpoints to it.
type Endpoint struct {
	Address    string                     `json:"address"` // host:port
	State      EndpointState              `json:"state"`
	Since      time.Time                  `json:"since,omitzero"`       // when the state began
	Current    bool                       `json:"current"`              // requests are sent to this endpoint first
	Fault      EndpointFault              `json:"fault,omitempty"`      // the newest one
	Error      string                     `json:"error,omitempty"`      // of the newest fault
	Faults     map[EndpointFault]uint64   `json:"faults,omitempty"`     // since the start
	ExtraReads map[ExtraReadReason]uint64 `json:"extraReads,omitempty"` // since the start

	// ClockAhead is by how many seconds the clock of the node is ahead of that of this host, at least; negative if it is behind. It is 0 while the clocks may
	// be equal. The newest reply shows it.
	ClockAhead float64 `json:"clockAheadSeconds,omitempty"`
}

// maxClockDifference is the difference of two clocks that people have to know of, in seconds: Proxmox itself needs clocks that agree within seconds.
const maxClockDifference = 10

// ClockDiffers reports whether the clock of the node differs from that of this host by more than a synchronized clock can.
func (e Endpoint) ClockDiffers() bool { return math.Abs(e.ClockAhead) >= maxClockDifference }

// ClockText describes the difference for people.
func (e Endpoint) ClockText() string {
	word := "ahead of"
	if e.ClockAhead < 0 {
		word = "behind"
	}
	difference := time.Duration(math.Abs(e.ClockAhead)) * time.Second
	return fmt.Sprintf("the clock of %s is %s %s that of this host", e.Address, difference, word)
}

// EndpointState states whether requests are sent to an endpoint. It is a label of metrics.
type EndpointState string

// States of an endpoint.
const (
	EndpointUnknown EndpointState = "unknown" // no request was sent to it yet
	EndpointUp      EndpointState = "up"
	EndpointDown    EndpointState = "down" // it gets requests only if no other endpoint answers in time, until it has answered several probes
)

// EndpointFault states what is wrong with the reply of an endpoint. It is a label of metrics.
type EndpointFault string

// Faults of an endpoint. The last four are faults only if another endpoint shows them to be: it gave another reply to the same read.
const (
	FaultUnreachable  EndpointFault = "unreachable"  // no connection, or no TLS
	FaultBroken       EndpointFault = "broken"       // the connection ended before the reply was complete
	FaultLate         EndpointFault = "late"         // no reply in time, or another endpoint that was asked later replied earlier
	FaultInvalid      EndpointFault = "invalid"      // a reply that is not from the API, such as a page of HTML
	FaultNoQuorum     EndpointFault = "no-quorum"    // its part of the cluster has no quorum, and that of another endpoint has it
	FaultUnauthorized EndpointFault = "unauthorized" // status 401
	FaultStatus       EndpointFault = "status"       // another failed status
)

// EndpointFaults lists every fault, for metrics that start at zero.
func EndpointFaults() []EndpointFault {
	return []EndpointFault{FaultUnreachable, FaultBroken, FaultLate, FaultInvalid, FaultNoQuorum, FaultUnauthorized, FaultStatus}
}

// ExtraReadReason states why an endpoint got a read beyond the first request of that read. It is a label of metrics.
type ExtraReadReason string

// Reasons of additional reads.
const (
	ExtraAfterFault ExtraReadReason = "fault"   // the endpoint before it gave no usable reply, or no endpoint is up
	ExtraLate       ExtraReadReason = "late"    // the endpoint before it had not replied yet
	ExtraConfirm    ExtraReadReason = "confirm" // whether a failed status is an answer about the resource, which two endpoints give alike
	ExtraProbe      ExtraReadReason = "probe"   // whether an endpoint that is down works again
)

// ExtraReadReasons lists every reason, for metrics that start at zero.
func ExtraReadReasons() []ExtraReadReason {
	return []ExtraReadReason{ExtraAfterFault, ExtraLate, ExtraConfirm, ExtraProbe}
}
