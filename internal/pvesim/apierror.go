package pvesim

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// apiError is an error reply in Proxmox's form: a status, a message whose first line is the reason phrase, and for status 400 a text
// per parameter. A client never receives an error of another type.
type apiError struct {
	status    int
	message   string            // as in the body, with the trailing newline that Perl's die leaves
	params    map[string]string // for 400, and for the text of a config that does not parse
	noBody    bool              // no body at all, as for 401
	after     time.Duration     // how long the caller waits for it
	plainText bool              // the body is the message as it is, not JSON
}

func (e *apiError) Error() string { return strings.TrimSuffix(e.message, "\n") }

// apiErrorf returns the error that Perl's die produces: status 500 and the text.
func apiErrorf(format string, args ...any) error {
	return &apiError{status: http.StatusInternalServerError, message: fmt.Sprintf(format, args...) + "\n"}
}

// paramError rejects one parameter with status 400.
func paramError(name, text string) error { return paramErrors(map[string]string{name: text}) }

func paramErrors(params map[string]string) error {
	return &apiError{status: http.StatusBadRequest, message: "Parameter verification failed.\n", params: params}
}

// forbidden returns the error for a missing privilege; detail is the part in parentheses, often "path, privilege".
func forbidden(detail string) error {
	return &apiError{status: http.StatusForbidden, message: "Permission check failed (" + detail + ")\n"}
}

func unauthorized(reason string) error {
	return &apiError{status: http.StatusUnauthorized, message: reason, noBody: true}
}

func notImplemented(method, path string) error {
	return &apiError{status: http.StatusNotImplemented, message: fmt.Sprintf("Method '%s %s' not implemented", method, path)}
}

// inTask returns the error as the text of a task: Perl prefixes the text of an error that has a status.
func inTask(err error) error {
	var e *apiError
	if !asAPIError(err, &e) || e.status == http.StatusInternalServerError {
		return err
	}
	return apiErrorf("%d %s", e.status, e.reason())
}

// reason returns the first line of the message, which is the reason phrase of the status line.
func (e *apiError) reason() string {
	line, _, _ := strings.Cut(e.message, "\n")
	return line
}

// body returns the message as JSON. Releases before 9 put the text into the status line only.
func (e *apiError) body(release int) []byte {
	if e.noBody {
		return nil
	}
	if e.plainText {
		return []byte(e.message)
	}
	var o object
	o.null("data")
	if release >= 9 {
		o.str("message", e.message)
	}
	if len(e.params) > 0 {
		var p object
		for _, k := range slices.Sorted(maps.Keys(e.params)) {
			p.str(k, e.params[k])
		}
		o.raw("errors", p.bytes())
	}
	return o.bytes()
}

func asAPIError(err error, target **apiError) bool { return errors.As(err, target) }

// waitWith waits as long as the caller of a call that failed with err waits for the reply.
func (s *Sim) waitWith(err error) {
	if e := (*apiError)(nil); asAPIError(err, &e) {
		s.wait(e.after)
	}
}
