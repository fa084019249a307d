package order

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// RunPrefix begins the text of a one-shot operation in the journal: the name of its trailer.
const RunPrefix = "Gitops-Run: "

// Request is a one-shot operation as a commit requests it. Its guest has no vmid yet.
type Request struct {
	Op     cluster.Op
	Guest  guest.Ref
	Params map[string]string // nil if there are none
}

// Parse reads the value of a trailer: "<operation> <kind>/<name> [key=value...]", with one space between the words. An error names what is allowed.
func Parse(value string) (Request, error) {
	words := strings.Split(value, " ")
	row, known := find(words[0])
	switch {
	case slices.Contains(words, ""):
		return Request{}, fmt.Errorf("got %q, want one space between the words: <operation> <kind>/<name> [key=value...]", value)
	case !known:
		return Request{}, fmt.Errorf("operation %q is unknown, want %s", words[0], oneOf(Operations()))
	case len(words) < 2:
		return Request{}, fmt.Errorf("%s names no guest, want <kind>/<name> after the operation", row.op)
	}
	ref, err := parseGuest(row, words[1])
	if err != nil {
		return Request{}, err
	}
	r := Request{Op: row.op, Guest: ref}
	for _, word := range words[2:] {
		if err := r.add(row, word); err != nil {
			return Request{}, err
		}
	}
	for _, key := range row.required {
		if _, given := r.Params[key]; !given {
			p, _ := row.param(key, ref.Kind)
			return Request{}, fmt.Errorf("%s needs %s=: %s", row.op, key, p.want)
		}
	}
	return r, nil
}

// parseGuest reads "<kind>/<name>". A container lacks some operations.
func parseGuest(row operation, word string) (guest.Ref, error) {
	kind, name, found := strings.Cut(word, "/")
	switch {
	case !found || name == "":
		return guest.Ref{}, fmt.Errorf("guest %q, want <kind>/<name>, such as %s/web-1", word, guest.VirtualMachine)
	case !slices.Contains(row.kinds(), kind):
		return guest.Ref{}, fmt.Errorf("%s of kind %q, want %s", row.op, kind, oneOf(row.kinds()))
	}
	return guest.Ref{Kind: guest.Kind(kind), Name: name}, nil
}

// add adds the parameter of one word, "key=value".
func (r *Request) add(row operation, word string) error {
	key, value, found := strings.Cut(word, "=")
	p, known := row.param(key, r.Guest.Kind)
	_, twice := r.Params[key]
	switch {
	case !found:
		return fmt.Errorf("got %q after the guest, want key=value", word)
	case !known && len(row.keys(r.Guest.Kind)) == 0:
		return fmt.Errorf("key %q of %s is unknown: it takes none", key, row.op)
	case !known:
		return fmt.Errorf("key %q of %s is unknown, want %s", key, row.op, oneOf(row.keys(r.Guest.Kind)))
	case twice:
		return fmt.Errorf("key %s occurs twice", key)
	case !p.ok(value):
		return fmt.Errorf("%s=%q, want %s", key, value, p.want)
	}
	if r.Params == nil {
		r.Params = make(map[string]string)
	}
	r.Params[key] = value
	return nil
}

// String returns the request as a trailer has it, the keys in the order of the table.
func (r Request) String() string {
	words := []string{string(r.Op), r.Guest.Label()}
	row, _ := find(string(r.Op))
	for _, p := range row.params {
		if value, given := r.Params[p.key]; given && p.isOf(r.Guest.Kind) {
			words = append(words, p.key+"="+value)
		}
	}
	return strings.Join(words, " ")
}

// Duration returns the value of a parameter that is a duration, 0 if it is not given.
func (r Request) Duration(key string) time.Duration {
	d, _ := time.ParseDuration(r.Params[key]) // Parse checked it
	return d
}

// oneOf returns "a, b or c".
func oneOf(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
