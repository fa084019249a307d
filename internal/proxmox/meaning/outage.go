package meaning

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"

	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
)

// outageOf returns why the exchange of a read failed, or "" if the reply is about the call only.
func outageOf(x *wire.Exchange, err error) cluster.Outage {
	var api *wire.APIError
	var broken *wire.BrokenError
	switch {
	case errors.As(err, &api):
		return outageOfStatus(api)
	case x.Done || errors.As(err, new(*wire.DisagreementError)):
		return cluster.OutageInvalid
	case !errors.As(err, &broken):
		return ""
	case errors.Is(err, wire.ErrTimeout):
		return cluster.OutageLate
	case isCancelled(err):
		return ""
	case isTLSError(err):
		return cluster.OutageTLS
	case !broken.Sent:
		return cluster.OutageUnreachable
	default:
		return cluster.OutageBroken
	}
}

func outageOfStatus(e *wire.APIError) cluster.Outage {
	switch {
	case e.Status == http.StatusUnauthorized:
		return cluster.OutageUnauthorized
	case e.Status == http.StatusForbidden:
		return cluster.OutageDenied
	case e.IsPage:
		return cluster.OutageInvalid
	case e.Status == http.StatusTooManyRequests, isFromGateway(e.Status), strings.Contains(e.Text(), noWorker):
		return cluster.OutageUnavailable
	default:
		return ""
	}
}

// isTLSError reports whether there was a connection without TLS, or to a server whose certificate is not trusted.
func isTLSError(err error) bool {
	var (
		pin         *wire.PinError
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		host        x509.HostnameError
		invalid     x509.CertificateInvalidError
		record      tls.RecordHeaderError
		alert       tls.AlertError
	)
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &pin) || errors.As(err, &certificate) || errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid) ||
		errors.As(err, &record) || errors.As(err, &alert)
}
