package gitsource

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"

	"gitops-agent/gitsource/fault"
)

// FaultOf returns the fault of a fetch's error, fault.None for nil. If several remotes have failed, it is that of the first one which replied.
func FaultOf(err error) fault.Fault {
	var known fault.Error
	var broken net.Error
	var dial *net.OpError
	var name *net.DNSError
	switch {
	case err == nil:
		return fault.None
	case errors.As(err, &known):
		return known.Fault
	case errors.Is(err, errIncomplete):
		return fault.Incomplete
	case errors.Is(err, ErrBehind):
		return fault.Behind
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Late
	case isTLSError(err):
		return fault.TLS
	case errors.As(err, &broken) && broken.Timeout():
		return fault.Late
	case errors.As(err, &name), errors.As(err, &dial) && dial.Op == "dial":
		return fault.Unreachable
	case errors.Is(err, ErrUnreachable):
		return fault.Invalid
	}
	return fault.Local
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
