package recovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"gitops-agent/reconcile/hostfile"
)

// Release is the content of the file: a person on the agent's host released the claims with this digest, once.
type Release struct {
	Digest string    `json:"digest"`
	UID    int       `json:"uid"` // the user that released them
	Since  time.Time `json:"since"`
}

// Note is the file by which a person on the agent's host releases claims. The agent removes the file when it has claimed the guests. The zero Note
// releases nothing.
type Note struct {
	Dir string // the state directory
}

// Write writes the file in place of an older one. If root writes it, the file belongs to the owner of the directory.
func (n Note) Write(r Release) error {
	r.Since = r.Since.UTC().Truncate(time.Second)
	text, err := json.Marshal(r)
	if err == nil {
		err = n.file().Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the release of claims: %w", err)
	}
	return nil
}

// Read returns the release, and false if there is no file or it cannot be read. Such a file releases nothing.
func (n Note) Read() (Release, bool) {
	if n.Dir == "" {
		return Release{}, false
	}
	text, err := n.file().Read()
	var r Release
	if err != nil || json.Unmarshal(text, &r) != nil || r.Digest == "" {
		return Release{}, false
	}
	return r, true
}

// Exists reports whether the file exists.
func (n Note) Exists() bool {
	_, err := n.file().Read()
	return !errors.Is(err, fs.ErrNotExist)
}

// Remove removes the file. It returns no error if there is none.
func (n Note) Remove() error {
	if _, err := n.file().Remove(); err != nil {
		return fmt.Errorf("remove the release of claims: %w", err)
	}
	return nil
}

func (n Note) file() hostfile.File { return hostfile.File{Dir: n.Dir, Name: hostfile.Recover} }
