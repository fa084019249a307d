package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"gitops-agent/reconcile/cluster"
)

// classify gives an exchange's error its meaning for a reconcile.Cluster. The *APIError stays within reach of errors.As.
//
// For a write the question is whether it may have taken effect. Proxmox refuses with status 400, 401, 403 or 500 before
// it begins, except where a text below says otherwise; anything that reads like a gateway, a lost connection or a reply
// that nobody can read leaves it open.
func classify(x *exchange, err error) error {
	var api *APIError
	if errors.As(err, &api) {
		meaning := meaningOf(x, api)
		api.redact(x.secrets) // only now: a password may be a word of Proxmox's text
		if errors.Is(meaning, cluster.ErrDenied) {
			meaning = deniedError(api.Text())
		}
		if meaning != nil {
			return fmt.Errorf("%w: %w", meaning, api)
		}
		return api
	}
	var address *url.Error // http.Client's wrapping, which names a host that failover may have left
	if errors.As(err, &address) {
		err = address.Err
	}
	err = fmt.Errorf("%s %s: %w", x.method, x.path, err)
	var broken *transportError
	switch {
	case x.done && x.writes():
		return fmt.Errorf("%w: decode reply: %w", cluster.ErrOutcomeUnknown, err)
	case x.done:
		return fmt.Errorf("decode reply: %w", err)
	case !errors.As(err, &broken):
		return err // refused before the request was sent
	case x.writes() && broken.sent:
		return fmt.Errorf("%w: %w", cluster.ErrUnanswered, err)
	case isCancelled(err):
		return err // the caller's own wish says nothing about the cluster
	default:
		return fmt.Errorf("%w: %w", cluster.ErrNotReady, err)
	}
}

// isCancelled reports whether the caller ended the exchange, by a cancellation or a deadline of its own.
func isCancelled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// meaningOf returns the sentinel that an APIError stands for, nil where it speaks for itself.
func meaningOf(x *exchange, e *APIError) error {
	switch {
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return cluster.ErrDenied
	case e.Status == http.StatusInternalServerError:
		return meaningOfText(x, e.Text())
	case e.Status == http.StatusBadRequest && x.writes():
		return meaningOfParameters(e)
	case e.Status == http.StatusTooManyRequests:
		return cluster.ErrNotReady // refused on the way, before Proxmox saw it
	case !isFromGateway(e.Status):
		return nil
	case x.writes() && e.Status == statusUnconnected:
		return cluster.ErrOutcomeUnknown
	case x.writes():
		return cluster.ErrUnanswered
	default:
		return cluster.ErrNotReady
	}
}

// statusUnconnected is the answer of pveproxy, with an empty body, if it could not connect to its own daemon or to the node that a call is for.
//
// Source: AnyEvent::HTTP, whose pseudo-status pveproxy passes on.
const statusUnconnected = 595

// meaningOfText reads the text of a status 500, which is Proxmox's word for nearly every failure.
func meaningOfText(x *exchange, said string) error {
	switch lost := strings.Contains(said, noWorker); {
	case lost && x.writes():
		return cluster.ErrOutcomeUnknown
	case lost:
		return cluster.ErrNotReady
	case x.writes():
		return writeMeaning(x.about, said)
	}
	return textMeaning(x.about, said)
}

// meaningOfParameters reads the errors of a status 400. Nearly all say that the request was wrong. A synchronous config call may
// have written its values and then been unable to plug them in: they stay pending. A guest that has moved is where it was to go.
func meaningOfParameters(e *APIError) error {
	for key, problem := range e.Errors {
		for _, pattern := range []string{"hotplug problem", "unable to hotplug", "unable to apply pending change"} {
			if strings.Contains(problem, pattern) {
				return cluster.ErrOutcomeUnknown
			}
		}
		if key == "target" && strings.Contains(problem, "target is local node") {
			return cluster.ErrConflict
		}
	}
	return cluster.ErrInvalid
}

// isFromGateway reports whether a status comes from something between us and the code that acts, so that it says
// nothing about what that code did: pveproxy's 595 to 599, the 502 to 504 of other proxies, and successes that Proxmox
// never answers with. 501, 505 and 506 are pveproxy's own refusals.
func isFromGateway(status int) bool {
	switch status {
	case http.StatusInternalServerError, http.StatusNotImplemented, http.StatusHTTPVersionNotSupported, http.StatusVariantAlsoNegotiates:
		return false
	default:
		return status >= 500 || status < 300
	}
}
