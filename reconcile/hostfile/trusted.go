package hostfile

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// UnsafeError means that other users than root and the agent's may change a file: itself, a link to it, or a folder above it.
type UnsafeError struct {
	Path    string // of the file or of the folder
	Problem string // "has mode 0666" or "belongs to user 1000"

	isForeign bool // the owner is the problem, and not the mode
	fix       repair
}

// Error returns the problem and the command.
func (e *UnsafeError) Error() string {
	return fmt.Sprintf("%s %s, so other users may change what the agent trusts: %s", e.Path, e.Problem, e.Command(func(path string) string { return path }))
}

// Command returns the command that makes the file safe, for the user of this process. Word makes a path a word of a shell.
func (e *UnsafeError) Command(word func(path string) string) string {
	return e.fix.command + " " + word(e.fix.path) + e.fix.rest
}

// A repair is a command: what is before a path, the path, and what is after it.
type repair struct{ command, path, rest string }

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
		if unsafe := checkOwnerAndMode(at, info, users); unsafe != nil {
			unsafe.fix = newRepair(path, unsafe, info, os.Geteuid())
			return unsafe
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

func checkOwnerAndMode(path string, info fs.FileInfo, users []int) *UnsafeError {
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
		return &UnsafeError{Path: path, Problem: fmt.Sprintf("belongs to user %d", owner.Uid), isForeign: true}
	case mode&fs.ModeSymlink == 0 && mayWrite != 0 && !isSticky:
		return &UnsafeError{Path: path, Problem: fmt.Sprintf("has mode %04o", mode.Perm())}
	}
	return nil
}

// newRepair returns how a user makes a file safe. The home of another user stays that user's, and the file leaves it. What lies in a folder of the user becomes the user's, and everything else root's,
// as the files of Proxmox and of the package are.
func newRepair(file string, unsafe *UnsafeError, info fs.FileInfo, uid int) repair {
	owner := ownerOf(info)
	sudo := "sudo "
	if uid == 0 {
		sudo = ""
	}
	if !unsafe.isForeign {
		if owner == uid {
			sudo = ""
		}
		return repair{sudo + "chmod go-w", unsafe.Path, ""}
	}
	switch inHome := isInHome(unsafe.Path, homeOf(owner)); {
	case inHome && uid == 0:
		return repair{"move it out of that home and name its new place: mv", file, " /etc/gitops-agent/"}
	case inHome:
		return repair{"copy it to your own home and name its new place: cp", file, ` "$HOME"/`}
	}
	chown := sudo + "chown "
	if info.Mode()&fs.ModeSymlink != 0 {
		chown += "-h "
	}
	if folder, err := os.Stat(filepath.Dir(unsafe.Path)); err == nil && uid != 0 && ownerOf(folder) == uid {
		return repair{chown + strconv.Itoa(uid), unsafe.Path, ""}
	}
	return repair{chown + "root", unsafe.Path, ""}
}

// ownerOf returns the owner of a file, root if it is not known.
func ownerOf(info fs.FileInfo) int {
	if owner, known := info.Sys().(*syscall.Stat_t); known {
		return int(owner.Uid)
	}
	return 0
}

// homeOf returns the home of a user, "" if it is not known.
func homeOf(uid int) string {
	if found, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return filepath.Clean(found.HomeDir)
	}
	return ""
}

// isInHome reports whether a path is the home of its owner or in it. Without a known home, what is below /home counts.
func isInHome(path, home string) bool {
	if home == "" || home == "/" || home == "." {
		return strings.HasPrefix(path, "/home/")
	}
	return path == home || strings.HasPrefix(path, home+"/")
}
