// Package pause stops all writes to the cluster by a file in the agent's state directory.
//
// A person on the agent's host makes the file with `gitops-agent pause` and removes it with `gitops-agent resume`. The agent reads the file
// immediately before every call that writes, so no call is sent after the file exists. The agent itself never writes or removes the file: a
// pause that has ended stays there without effect, so that the agent cannot remove a newer pause by mistake.
package pause

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gitops-agent/reconcile/hostfile"
)

// MaxReason bounds a reason, in bytes.
const MaxReason = 500

// ErrPaused is returned for a call that is not sent because of a pause.
var ErrPaused = errors.New("the agent is paused")

// Note is the content of the file: why and until when the agent writes nothing. Notes can be compared with ==.
type Note struct {
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until,omitzero"` // zero lasts until the file is removed
	UID    int       `json:"uid"`            // the user that paused the agent
	// Problem is why the content of the file cannot be used; Since is then the time of the file, or zero. Such a file pauses the agent without end.
	Problem string `json:"problem,omitempty"`
}

// String describes the pause: "by user 1000 since 2026-03-01T12:00:00Z until 2026-03-01T14:00:00Z: kernel update".
func (n Note) String() string {
	text := n.Problem
	if text == "" {
		text = fmt.Sprintf("by user %d since %s", n.UID, n.Since.Format(time.RFC3339))
	}
	if !n.Until.IsZero() {
		text += " until " + n.Until.Format(time.RFC3339)
	}
	if n.Reason != "" {
		text += ": " + n.Reason
	}
	return text
}

// CheckReason returns an error if the text cannot be the reason of a pause: a reason is one line of printable characters.
func CheckReason(text string) error {
	switch {
	case len(text) > MaxReason:
		return fmt.Errorf("the reason has %d bytes, want at most %d", len(text), MaxReason)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("the reason must be one line of printable characters")
	}
	return nil
}

// File is the file of a pause. The zero File never pauses.
type File struct {
	Dir string // the state directory
}

// Active returns the note if the agent is paused at the time now. A file that cannot be read or parsed pauses the agent.
func (f File) Active(now time.Time) (Note, bool) {
	if f.Dir == "" {
		return Note{}, false
	}
	note, found := f.read()
	if !found || !note.Until.IsZero() && !now.Before(note.Until) {
		return Note{}, false
	}
	return note, true
}

// Check returns an error that wraps ErrPaused if the agent is paused now.
func (f File) Check() error {
	if note, paused := f.Active(time.Now()); paused {
		return fmt.Errorf("%w %s", ErrPaused, note)
	}
	return nil
}

// read returns the note, and false if there is no file.
func (f File) read() (Note, bool) {
	info, err := os.Lstat(f.path())
	if errors.Is(err, fs.ErrNotExist) {
		return Note{}, false
	}
	problem := func(text string) (Note, bool) {
		n := Note{Problem: fmt.Sprintf("by the file %s, which %s", f.path(), text)}
		if info != nil {
			n.Since = info.ModTime().UTC()
		}
		return n, true
	}
	switch {
	case err != nil:
		return problem("cannot be read: " + err.Error())
	case !info.Mode().IsRegular():
		return problem("is not a regular file")
	}
	text, err := f.file().Read()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Note{}, false // removed meanwhile
	case err != nil:
		return problem("cannot be read: " + err.Error())
	}
	var n Note
	if err := json.Unmarshal(text, &n); err != nil || n.Since.IsZero() || n.Problem != "" || CheckReason(n.Reason) != nil {
		return problem("gitops-agent pause did not write")
	}
	n.Since, n.Until = n.Since.UTC(), n.Until.UTC()
	return n, true
}

// Write makes the file durable in one step, in place of an older one. If root writes it, the file belongs to the owner of the directory.
func (f File) Write(n Note) error {
	n.Since, n.Until, n.Problem = n.Since.UTC().Truncate(time.Second), n.Until.UTC(), ""
	text, err := json.Marshal(n)
	if err == nil {
		err = f.file().Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write pause: %w", err)
	}
	return nil
}

// Remove removes the file durably. It returns false if there was none.
func (f File) Remove() (bool, error) {
	removed, err := f.file().Remove()
	if err != nil {
		return false, fmt.Errorf("remove pause: %w", err)
	}
	return removed, nil
}

func (f File) file() hostfile.File { return hostfile.File{Dir: f.Dir, Name: hostfile.Pause} }

func (f File) path() string { return f.file().Path() }
