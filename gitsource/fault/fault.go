package fault

import "net/http"

// Fault states why a fetch failed. It is a label of metrics.
type Fault string

// The faults of a fetch. None means that it succeeded.
const (
	None         Fault = "answers"
	Unread       Fault = "unread"             // no fetch has ended since the start
	Unreachable  Fault = "unreachable"        // no connection, or the name of the host is not known
	TLS          Fault = "tls"                // the certificate, or the ssh host key, is not trusted
	Late         Fault = "late"               // no reply in time
	Unauthorized Fault = "unauthorized"       // 401 or 403, or the ssh key is not accepted
	NotFound     Fault = "not-found"          // 404, or the repository does not have the branch
	Status       Fault = "status"             // another HTTP status
	Invalid      Fault = "invalid"            // not a reply of a git repository, or not a complete one
	Incomplete   Fault = "incomplete-history" // a shallow or damaged repository: it names commits or files that it does not have
	Behind       Fault = "behind"             // an older commit than what another remote served
	Local        Fault = "local"              // the disk, a file of the configuration, or the store on this machine
)

// All lists every fault.
func All() []Fault {
	return []Fault{
		None, Unread, Unreachable, TLS, Late, Unauthorized, NotFound, Status, Invalid, Incomplete, Behind, Local,
	}
}

// Error is an error whose fault is known where it arises. Its text is that of the cause.
type Error struct {
	Fault Fault
	error
}

func (e Error) Unwrap() error { return e.error }

// New returns an error whose fault is known. Its text is that of the cause.
func New(fault Fault, cause error) error { return Error{fault, cause} }

// OfStatus returns the fault of an HTTP status other than 200.
func OfStatus(code int) Fault {
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return Unauthorized
	case http.StatusNotFound:
		return NotFound
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return Late
	}
	return Status
}
