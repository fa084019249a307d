package gitsource

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
)

// Fault states why a fetch failed. It is a label of metrics.
type Fault string

// Faults of a fetch. FaultNone means that it succeeded.
const (
	FaultNone         Fault = "answers"
	FaultUnreachable  Fault = "unreachable"        // no connection, or the name of the host is not known
	FaultTLS          Fault = "tls"                // the certificate, or the ssh host key, is not trusted
	FaultLate         Fault = "late"               // no reply in time
	FaultUnauthorized Fault = "unauthorized"       // 401 or 403, or the ssh key is not accepted
	FaultNotFound     Fault = "not-found"          // 404, or the repository does not have the branch
	FaultStatus       Fault = "status"             // another HTTP status
	FaultInvalid      Fault = "invalid"            // not a reply of a git repository, or not a complete one
	FaultIncomplete   Fault = "incomplete-history" // a shallow or damaged repository: it names commits or files that it does not have
	FaultBehind       Fault = "behind"             // an older commit than what another remote served
	FaultLocal        Fault = "local"              // the disk, a file of the configuration, or the store on this machine
)

// Faults lists every fault.
func Faults() []Fault {
	return []Fault{
		FaultNone, FaultUnreachable, FaultTLS, FaultLate, FaultUnauthorized, FaultNotFound, FaultStatus, FaultInvalid, FaultIncomplete, FaultBehind, FaultLocal,
	}
}

// faultError is an error whose fault is known where it arises. Its text is that of the cause.
type faultError struct {
	fault Fault
	error
}

func (e faultError) Unwrap() error { return e.error }

// FaultOf returns the fault of a fetch's error, FaultNone for nil. If several remotes have failed, it is that of the first one which replied.
func FaultOf(err error) Fault {
	var known faultError
	var broken net.Error
	var dial *net.OpError
	var name *net.DNSError
	switch {
	case err == nil:
		return FaultNone
	case errors.As(err, &known):
		return known.fault
	case errors.Is(err, errIncomplete):
		return FaultIncomplete
	case errors.Is(err, ErrBehind):
		return FaultBehind
	case errors.Is(err, context.DeadlineExceeded):
		return FaultLate
	case isTLSError(err):
		return FaultTLS
	case errors.As(err, &broken) && broken.Timeout():
		return FaultLate
	case errors.As(err, &name), errors.As(err, &dial) && dial.Op == "dial":
		return FaultUnreachable
	case errors.Is(err, ErrUnreachable):
		return FaultInvalid
	}
	return FaultLocal
}

func isTLSError(err error) bool {
	var (
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		host        x509.HostnameError
		invalid     x509.CertificateInvalidError
		record      tls.RecordHeaderError
		alert       tls.AlertError
	)
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &certificate) || errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid) || errors.As(err, &record) ||
		errors.As(err, &alert)
}

// faultOfStatus returns the fault of an HTTP status other than 200.
func faultOfStatus(code int) Fault {
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return FaultUnauthorized
	case http.StatusNotFound:
		return FaultNotFound
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return FaultLate
	}
	return FaultStatus
}
