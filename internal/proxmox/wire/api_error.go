package wire

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"gitops-agent/internal/bounds"
	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
)

// StatusUnconnected is the status of pveproxy, with an empty body, if it could not connect to its own daemon or to the node that a call is for: the
// node was offline, or its pveproxy not started yet. Nothing of the request was sent. After a connection that ended before the reply, the status is 596.
//
// Source: AnyEvent::HTTP 2.25, whose pseudo-status pveproxy passes on: 595 ends a request in the callback of the connection, before the request is written.
const StatusUnconnected = 595

// APIError is a reply whose status is not 200. Proxmox has no codes for most failures: the text is the error. Older and newer releases put
// the text in different places.
//
// Source: pve-http-server, APIServer/AnyEvent.pm; message is in the body since 5.2.0.
type APIError struct {
	Status  int
	Reason  string            // of the status line: the first line of Proxmox's text
	Message string            // of the body: the complete text; empty from older releases and from gateways
	Errors  map[string]string // by parameter, for status 400
	Method  string
	Path    string // below /api2/json, without query
	IsPage  bool   // the body is a page of a proxy
}

// Error returns "POST /nodes/pve1/qemu/100/config: 500 VM is locked (backup)" on one line.
func (e *APIError) Error() string {
	text := fmt.Sprintf("%s %s: %d %s", e.Method, e.Path, e.Status, e.Text())
	var details []string
	for _, key := range slices.Sorted(maps.Keys(e.Errors)) {
		details = append(details, key+": "+reply.OneLine(e.Errors[key]))
	}
	if len(details) > 0 {
		text += " (" + strings.Join(details, "; ") + ")"
	}
	return strings.TrimRight(text, " ")
}

// Text returns Proxmox's text on one line: the message, or the reason if there is no message.
func (e *APIError) Text() string {
	if e.Message != "" {
		return reply.OneLine(e.Message)
	}
	return reply.OneLine(e.Reason)
}

// errorLimits are those of a failed reply.
var errorLimits = bounds.JSON{Bytes: maxErrorReply, Values: 10_000, Elements: 1000, Depth: 16}

// newAPIError reads a failed reply. The body may be empty, truncated, plain text, or HTML from a proxy.
func newAPIError(req *http.Request, res *http.Response, body []byte) *APIError {
	e := &APIError{
		Status: res.StatusCode,
		Reason: strings.TrimSpace(strings.TrimPrefix(res.Status, fmt.Sprint(res.StatusCode))),
		Method: req.Method,
		Path:   strings.TrimPrefix(req.URL.Path, route.Base),
	}
	var reply struct {
		Message reply.Scalar            `json:"message"`
		Errors  map[string]reply.Scalar `json:"errors"`
	}
	if err := errorLimits.Unmarshal(body, &reply); err != nil {
		e.IsPage = isPage(body)
		return e // with the reason only
	}
	e.Message = strings.TrimSpace(string(reply.Message))
	for key, problem := range reply.Errors {
		if e.Errors == nil {
			e.Errors = make(map[string]string, len(reply.Errors))
		}
		e.Errors[key] = strings.TrimSpace(string(problem))
	}
	return e
}

// Redact replaces secrets in every text that Proxmox may have echoed.
func (e *APIError) Redact(secrets []string) {
	for _, secret := range secrets {
		if secret == "" {
			continue
		}
		e.Reason = strings.ReplaceAll(e.Reason, secret, "<secret>")
		e.Message = strings.ReplaceAll(e.Message, secret, "<secret>")
		for key, problem := range e.Errors {
			e.Errors[key] = strings.ReplaceAll(problem, secret, "<secret>")
		}
	}
}
