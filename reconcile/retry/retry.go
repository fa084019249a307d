package retry

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/hostfile"
)

// Request is the content of the file.
type Request struct {
	ID     string    `json:"id"`               // new for each command
	Guests []string  `json:"guests,omitempty"` // labels, such as VirtualMachine/web-1 or BackupJob/nightly
	All    bool      `json:"all,omitempty"`    // everything that waits
	UID    int       `json:"uid"`              // the user that asked
	Since  time.Time `json:"since"`
}

// Asks reports whether the request concerns the guest with this label.
func (r Request) Asks(label string) bool { return r.All || slices.Contains(r.Guests, label) }

// with returns the request, and what an older one asks for.
func (r Request) with(older Request) Request {
	r.All = r.All || older.All
	r.Guests = slices.Concat(r.Guests, older.Guests)
	slices.Sort(r.Guests)
	if r.Guests = slices.Compact(r.Guests); r.All {
		r.Guests = nil
	}
	return r
}

// Outcome is what the agent did for a request.
type Outcome struct {
	ID      string    `json:"id"` // of the request
	Time    time.Time `json:"time"`
	Guests  []Guest   `json:"guests,omitempty"`  // the named ones; for all guests, those of which something was cleared or that something still prevents
	Unknown []string  `json:"unknown,omitempty"` // labels that nothing has any more
}

// Guest is what the agent did for a guest, or for an object of another kind, which has no vmid.
type Guest struct {
	Guest   string    `json:"guest"`
	VMID    int       `json:"vmid,omitempty"`
	Cleared []Cleared `json:"cleared,omitempty"`
	Remains []Remains `json:"remains,omitempty"`
}

// Cleared is a reason to wait that the agent forgot.
type Cleared string

// What a request clears.
const (
	Backoff  Cleared = "backoff"  // the wait after failures
	Flapping Cleared = "flapping" // the wait of a guest that something keeps changing back
	Restart  Cleared = "restart"  // the record that the same restart was without effect
)

// Clears lists every value of Cleared.
func Clears() []Cleared { return []Cleared{Backoff, Flapping, Restart} }

// Remains is what still prevents a step of a guest, and what a request does not clear.
type Remains struct {
	Reason  string `json:"reason"` // of a hold, or of a condition, or OpenStep
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// OpenStep is the reason of a guest that waits until the outcome of a call is known.
const OpenStep = "open-step"

// File is the file of requests. The zero File asks for nothing.
type File struct {
	Dir string // the state directory
}

// Write adds a request to the one that the agent has not taken yet, if there is one. If root writes the file, it belongs to the owner of the directory.
func (f File) Write(r Request) error {
	if older, found := f.Read(); found {
		r = r.with(older)
	}
	r.Since = r.Since.UTC().Truncate(time.Second)
	text, err := json.Marshal(r)
	if err == nil && len(text) >= hostfile.MaxSize {
		err = fmt.Errorf("%d guests are too many for one request: name fewer, or use --all", len(r.Guests))
	}
	if err == nil {
		err = f.file().Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the request: %w", err)
	}
	return nil
}

// Read returns the request, and false if there is no file or it cannot be read. Such a file asks for nothing.
func (f File) Read() (Request, bool) {
	if f.Dir == "" {
		return Request{}, false
	}
	text, err := f.file().Read()
	var r Request
	if err != nil || json.Unmarshal(text, &r) != nil || r.ID == "" || !r.All && len(r.Guests) == 0 {
		return Request{}, false
	}
	return r, true
}

// Remove removes the file if it still has this request: another one may have come in the meantime.
func (f File) Remove(r Request) error {
	if now, found := f.Read(); !found || now.ID != r.ID {
		return nil
	}
	if _, err := f.file().Remove(); err != nil {
		return errors.Join(errors.New("remove the request"), err)
	}
	return nil
}

func (f File) file() hostfile.File { return hostfile.File{Dir: f.Dir, Name: hostfile.Retry} }
