package cluster

import (
	"context"
	"errors"
)

// Outage states why the cluster cannot be worked with. It is a label of metrics.
type Outage string

// Reasons why the cluster cannot be worked with. OutageNone means that it can.
const (
	OutageNone         Outage = "ready"
	OutageUnread       Outage = "unread"       // nothing was read since the start
	OutageUnreachable  Outage = "unreachable"  // no connection
	OutageTLS          Outage = "tls"          // the certificate is not trusted, or there is no TLS
	OutageLate         Outage = "late"         // no reply in time
	OutageBroken       Outage = "broken"       // the connection ended before the reply was complete
	OutageInvalid      Outage = "invalid"      // a reply that is not from the API, or endpoints that answer differently
	OutageUnauthorized Outage = "unauthorized" // 401: the token is not valid
	OutageDenied       Outage = "denied"       // 403: the token lacks a privilege
	OutageUnavailable  Outage = "unavailable"  // a node or a daemon behind the endpoint does not answer
	OutageNoQuorum     Outage = "no-quorum"
	OutageTooOld       Outage = "too-old" // the release of Proxmox is not supported
	OutageFailed       Outage = "failed"  // another failed reply
)

// Outages lists every reason, for metrics that start at zero.
func Outages() []Outage {
	return []Outage{
		OutageNone, OutageUnread, OutageUnreachable, OutageTLS, OutageLate, OutageBroken, OutageInvalid, OutageUnauthorized, OutageDenied, OutageUnavailable,
		OutageNoQuorum, OutageTooOld, OutageFailed,
	}
}

// OutageError is the error of a reading with its reason. Its text is that of Err.
type OutageError struct {
	Outage Outage
	Err    error
}

func (e *OutageError) Error() string { return e.Err.Error() }
func (e *OutageError) Unwrap() error { return e.Err }

// OutageOf returns the reason of a reading's error, OutageNone for nil.
func OutageOf(err error) Outage {
	var outage *OutageError
	switch {
	case err == nil:
		return OutageNone
	case errors.As(err, &outage):
		return outage.Outage
	case errors.Is(err, ErrDenied):
		return OutageDenied
	case errors.Is(err, context.DeadlineExceeded):
		return OutageLate
	}
	return OutageFailed
}
