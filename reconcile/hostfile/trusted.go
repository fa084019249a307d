package hostfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// UnsafeError means that other users than root and the agent's may change a file: itself, a link to it, or a folder above it.
type UnsafeError struct {
	Path    string // of the file or of the folder
	Problem string // "has mode 0666" or "belongs to user 1000"
	Fix     string // the command without the path, "chmod go-w"
}

// Error returns the problem and the command.
func (e *UnsafeError) Error() string {
	return fmt.Sprintf("%s %s, so other users may change what the agent trusts: %s %s", e.Path, e.Problem, e.Fix, e.Path)
}

// maxLinks is how many links the way to a file may have, as of the Linux kernel.
const maxLinks = 40

// CheckTrusted returns an *UnsafeError if other users than root, the user of this process and some further ones may change a file, or may put another one in its place. It follows every
// link on the way to the file, and looks at every folder up to the root:
//
//   - A file, folder or link belongs to one of the trusted users.
//   - A file or folder cannot be written by the group or by others. The group that has the number of its owner, or of another trusted user, is that user's own one, except that of root.
//   - A folder with the sticky bit, such as /tmp or the folder of a secret that Kubernetes mounts, may be written by all: only the owner of what is in it can replace that.
//
// A path that does not exist is safe as far as it exists. If a folder cannot be read, the result is the error of the operating system.
func CheckTrusted(path string, users ...int) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	users = append(users, 0, os.Geteuid())
	at, rest, links := "/", parts(path), 0
	for {
		info, err := os.Lstat(at)
		switch {
		case os.IsNotExist(err):
			return nil
		case err != nil:
			return err
		}
		if err := checkOwnerAndMode(at, info, users); err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			if links++; links > maxLinks {
				return fmt.Errorf("%s: %w", path, syscall.ELOOP)
			}
			target, err := os.Readlink(at)
			if err != nil {
				return err
			}
			if at = filepath.Dir(at); filepath.IsAbs(target) {
				at = "/"
			}
			rest = append(parts(target), rest...)
		}
		if len(rest) == 0 {
			return nil
		}
		at, rest = filepath.Join(at, rest[0]), rest[1:]
	}
}

// parts returns the names in a path. A name ".." stays: it means the parent of where a link leads, which Join finds because no link is left before it.
func parts(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" || name == "." })
}

func checkOwnerAndMode(path string, info fs.FileInfo, users []int) error {
	owner, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return nil
	}
	mode := info.Mode()
	isSticky := mode.IsDir() && mode&fs.ModeSticky != 0
	mayWrite := mode.Perm() & 0o022
	isOwn := owner.Uid == owner.Gid || owner.Uid == 0 && slices.Contains(users, int(owner.Gid)) // a volume of Kubernetes belongs to root and to the agent's group
	if owner.Gid != 0 && isOwn {
		mayWrite &^= 0o020
	}
	switch {
	case !slices.Contains(users, int(owner.Uid)):
		return &UnsafeError{Path: path, Problem: fmt.Sprintf("belongs to user %d", owner.Uid), Fix: "chown root"}
	case mode&fs.ModeSymlink == 0 && mayWrite != 0 && !isSticky:
		return &UnsafeError{Path: path, Problem: fmt.Sprintf("has mode %04o", mode.Perm()), Fix: "chmod go-w"}
	}
	return nil
}
