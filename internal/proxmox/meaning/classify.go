package meaning

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
)

// Of wraps the error of an exchange in the matching error of package cluster. errors.As still finds the *wire.APIError. The error of a read that concerns
// more than the call is a *cluster.OutageError.
func Of(x *wire.Exchange, err error) error {
	classified := classifyCall(x, err)
	var unsent *wire.CheckError
	if x.Writes() || errors.As(err, &unsent) {
		return classified
	}
	if outage := outageOf(x, err); outage != "" {
		return &cluster.OutageError{Outage: outage, Err: classified}
	}
	return classified
}

// classifyCall wraps the error of an exchange in the error of package cluster that states what the call did.
//
// A write may have taken effect or not. Proxmox rejects a write with status 400, 401, 403 or 500 before it changes anything, except
// for the texts below and the config call of a container. The outcome is unknown after the status of a gateway, a lost connection or an unreadable reply. The
// status 595 of pveproxy says that it had no connection to the node of the call, so the call was not sent.
func classifyCall(x *wire.Exchange, err error) error {
	var unsent *wire.CheckError
	if errors.As(err, &unsent) {
		return unsent.Err // the error of the check, which may have exchanges of its own
	}
	var api *wire.APIError
	if errors.As(err, &api) {
		meaning := meaningOf(x, api)
		_ = x.Withhold(api) // only after the text was compared
		if errors.Is(meaning, cluster.ErrDenied) {
			meaning = deniedError(api.Text())
		}
		if meaning != nil {
			return fmt.Errorf("%w: %w", meaning, api)
		}
		return api
	}
	var wrapped *url.Error // of http.Client; it names the first endpoint, and failover may have used another one
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	err = x.Withhold(err)
	err = fmt.Errorf("%s %s: %w", x.Method, x.Path, err)
	var broken *wire.BrokenError
	switch {
	case x.Done && x.Writes():
		return fmt.Errorf("%w: decode reply: %w", cluster.ErrOutcomeUnknown, err)
	case x.Done:
		return fmt.Errorf("decode reply: %w", err)
	case !errors.As(err, &broken):
		return err // refused before the request was sent
	case x.Writes() && broken.Sent:
		return fmt.Errorf("%w: %w", cluster.ErrUnanswered, err)
	case isCancelled(err):
		return err // the caller ended the exchange; the cluster may be ready
	case x.Writes():
		return notSentError{fmt.Errorf("%w: %w", cluster.ErrNotReady, err)}
	default:
		return fmt.Errorf("%w: %w", cluster.ErrNotReady, err)
	}
}

// notSentError is the error of a write that did not leave this client, or the endpoint that should pass it on. Its text is that of the cause.
type notSentError struct{ error }

func (e notSentError) Unwrap() error        { return e.error }
func (e notSentError) Is(target error) bool { return target == cluster.ErrNotSent }

// isCancelled reports whether the caller's context ended the exchange.
func isCancelled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// meaningOf returns the error of package cluster that matches a wire.APIError, or nil if none matches.
func meaningOf(x *wire.Exchange, e *wire.APIError) error {
	switch {
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return cluster.ErrDenied
	case e.Status == http.StatusInternalServerError:
		return meaningOfText(x, e.Text())
	case e.Status == http.StatusBadRequest && x.Writes():
		return meaningOfParameters(e)
	case e.Status == http.StatusTooManyRequests:
		return cluster.ErrNotReady // a proxy in front of Proxmox rejected the request
	case !isFromGateway(e.Status):
		return nil
	case x.Writes() && e.Status == wire.StatusUnconnected:
		return notSentError{cluster.ErrNotReady}
	case x.Writes():
		return cluster.ErrUnanswered
	default:
		return cluster.ErrNotReady
	}
}

// meaningOfText reads the text of a status 500. Proxmox uses this status for nearly every failure.
func meaningOfText(x *wire.Exchange, text string) error {
	switch lost := strings.Contains(text, noWorker); {
	case lost && x.Writes():
		return cluster.ErrOutcomeUnknown
	case lost:
		return cluster.ErrNotReady
	case !x.Writes():
		return textMeaning(x.About, text)
	}
	meaning := writeMeaning(x.About, text)
	switch {
	case !storesFirst(x):
	case meaning == nil:
		return cluster.ErrRefusedLate
	case errors.Is(meaning, cluster.ErrInvalid):
		return fmt.Errorf("%w, %w", cluster.ErrRefusedLate, meaning)
	}
	return meaning
}

// storesFirst reports whether Proxmox may store the change of a call before it refuses the call. The config call of a container stores the change
// and then applies it to the container, also to its volumes. A virtual machine's config call does both in a task.
//
// Source: recorded from PVE 9.2, "Device /dev/null does not exist"; PVE::API2::LXC::Config update_vm.
func storesFirst(x *wire.Exchange) bool { return x.Route == route.Config && x.Method == http.MethodPut }

// meaningOfParameters reads the errors of a status 400. Nearly all mean that the request was wrong. There are two exceptions: a synchronous
// config call may have written its values and then failed to apply them to the running guest, so that they stay pending; and a guest to
// migrate may already be on the target node.
func meaningOfParameters(e *wire.APIError) error {
	for key, problem := range e.Errors {
		for _, pattern := range []string{"hotplug problem", "unable to hotplug", "unable to apply pending change"} {
			if strings.Contains(problem, pattern) {
				return cluster.ErrRefusedLate
			}
		}
		if key == "target" && strings.Contains(problem, "target is local node") {
			return cluster.ErrConflict
		}
	}
	return cluster.ErrInvalid
}

// isFromGateway reports whether a status comes from a proxy between this client and the code that carries out the call. Such a status does
// not show what that code did. These are 595 to 599 of pveproxy, 502 to 504 of other proxies, and statuses below 300, which Proxmox
// never sends except for 200. pveproxy itself rejects a request with 501, 505 or 506.
func isFromGateway(status int) bool {
	switch status {
	case http.StatusInternalServerError, http.StatusNotImplemented, http.StatusHTTPVersionNotSupported, http.StatusVariantAlsoNegotiates:
		return false
	default:
		return status >= 500 || status < 300
	}
}
