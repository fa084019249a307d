package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
)

// file is a file to write.
type file struct {
	path    string
	content []byte
	mode    mode
	// replaces is the one other content that the file may have and that is not lost: the example that the package installs.
	replaces []byte
}

// mode is who may read a file. Only its owner may write it.
type mode int

const (
	modePublic  mode = iota // everybody may read it
	modeSecret              // the owner and, for root, the group of the agent
	modeProgram             // everybody may read and run it
)

// serviceUser is the user and the group of the agent's service, which the package makes.
const serviceUser = "gitops-agent"

// owner is who gets the files: root with the agent's group if root runs this on a host of the package, otherwise the current user.
type owner struct {
	service  bool // root runs this, and the agent's user exists
	uid, gid int  // of the agent's user
}

// findOwner returns the ids of the agent's user.
func findOwner() owner {
	if os.Geteuid() != 0 {
		return owner{}
	}
	found, err := user.Lookup(serviceUser)
	if err != nil {
		return owner{}
	}
	uid, uidErr := strconv.Atoi(found.Uid)
	gid, gidErr := strconv.Atoi(found.Gid)
	return owner{uidErr == nil && gidErr == nil, uid, gid}
}

// permissions returns the mode of a file or, with the agent's group, one that lets the group read it.
func (m mode) permissions(withGroup bool) fs.FileMode {
	switch {
	case m == modePublic:
		return 0o644
	case m == modeProgram:
		return 0o755
	case withGroup:
		return 0o640
	}
	return 0o600
}

// write writes the files in order, the config last, and makes the state directory. If one of the files is there with another content, it writes none.
func write(ctx context.Context, files []file, stateDir string, o owner) (Result, error) {
	var r Result
	var missing []file
	var problems []error
	for _, f := range files {
		present, err := agent.ReadBounded(f.path)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && f.replaces != nil && bytes.Equal(present, f.replaces):
			missing = append(missing, f)
		case err != nil:
			problems = append(problems, err)
		case !bytes.Equal(present, f.content):
			problems = append(problems, fmt.Errorf("%s is there and differs%s", f.path, differing(f, present)))
		default:
			r.Kept = append(r.Kept, f.path)
		}
	}
	if len(problems) > 0 {
		return Result{}, term.WithHint(errors.Join(problems...), "init overwrites nothing, and wrote nothing: move the file away, or give the one that is there")
	}
	for _, f := range missing {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		if err := makeDir(filepath.Dir(f.path), o); err != nil {
			return r, err
		}
		if err := create(f, o); err != nil {
			return r, err
		}
		r.Written = append(r.Written, f.path)
	}
	return r, makeStateDir(stateDir, o)
}

// differing returns the first line that differs, for a file without secrets.
func differing(f file, present []byte) string {
	if f.mode == modeSecret {
		return ""
	}
	old, wanted := strings.Split(string(present), "\n"), strings.Split(string(f.content), "\n")
	for i := range min(len(old), len(wanted)) {
		if old[i] != wanted[i] {
			return fmt.Sprintf(" in line %d:\n- %s\n+ %s", i+1, term.Shorten(old[i], 100), term.Shorten(wanted[i], 100))
		}
	}
	return fmt.Sprintf(": it has %s, and init would write %s", term.Count(len(old), "line"), term.Count(len(wanted), "line"))
}

// makeDir makes the directory of the config as systemd does. One that is there stays as it is.
func makeDir(dir string, o owner) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // as /etc itself
		return fmt.Errorf("make the directory of the config: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of the config: %w", err)
	}
	if o.service {
		return errors.Join(os.Chown(dir, 0, o.gid), os.Chmod(dir, 0o750)) //nolint:gosec // whatever the umask is, the group may read
	}
	return nil
}

// makeStateDir makes the state directory for the agent's user, as the package does. Without that user the agent makes it.
func makeStateDir(dir string, o owner) error {
	if _, err := os.Stat(dir); err == nil || !o.service {
		return nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	return os.Chown(dir, o.uid, o.gid)
}

// create writes a file that is not there, completely or not at all: a link to a finished temporary file never replaces another file. Only an unedited
// example is replaced, by a rename.
func create(f file, o owner) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(f.path), "."+filepath.Base(f.path)+".tmp-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	defer func() {
		if removing := os.Remove(temporary.Name()); !errors.Is(removing, fs.ErrNotExist) { // a rename has moved it
			err = errors.Join(err, removing)
		}
	}()
	_, err = temporary.Write(f.content)
	err = errors.Join(err, temporary.Chmod(f.mode.permissions(o.service)))
	if o.service {
		err = errors.Join(err, temporary.Chown(0, o.gid))
	}
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err == nil {
		err = f.place(temporary.Name())
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	return nil
}

// place gives a finished temporary file its name.
func (f file) place(temporary string) error {
	err := os.Link(temporary, f.path)
	if !errors.Is(err, fs.ErrExist) || f.replaces == nil {
		return err
	}
	present, readErr := agent.ReadBounded(f.path)
	if readErr != nil || !bytes.Equal(present, f.replaces) {
		return err // it was edited meanwhile
	}
	return os.Rename(temporary, f.path)
}
