package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"gitops-agent/reconcile/secret"
)

// secretDir is the directory with the secrets that manifests name. A file in it is a secret only if it is plain, small, and
// readable by nobody but its owner, who is root or the agent.
type secretDir struct {
	path string

	mu    sync.Mutex
	known map[string]readSecret
}

// readSecret is a content and the file that it was read from.
type readSecret struct {
	file    os.FileInfo
	content string
}

const (
	maxSecret = 4 << 10 // bytes of a file
	// settledAfter is how old a file's time must be for a later change to show in it.
	settledAfter = 2 * time.Second
)

// secretName is a name without a way out of the directory.
var secretName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`)

func newSecretDir(path string) *secretDir {
	return &secretDir{path: path, known: make(map[string]readSecret)}
}

// read returns the one line of a secret's file without its end. A file that did not change since is not read again. The error is a
// *reconcile.SecretError.
func (d *secretDir) read(name string) (string, error) {
	if !secretName.MatchString(name) {
		return "", d.refuse(name, "it is not the name of a file", "name a file directly in "+d.path+": letters, digits, dots, dashes and underscores")
	}
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return "", d.unreadable(name, d.path, err)
	}
	defer func() { _ = root.Close() }()
	if err := d.judgeRoot(name, root); err != nil {
		return "", err
	}
	info, err := root.Lstat(name)
	if err != nil {
		return "", d.unreadable(name, d.file(name), err)
	}
	if err := d.judge(name, info); err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, ok := d.known[name]; ok && sameFile(known.file, info) {
		return known.content, nil
	}
	content, err := d.open(root, name, info)
	if err != nil {
		delete(d.known, name)
		return "", err
	}
	if time.Since(info.ModTime()) > settledAfter {
		d.known[name] = readSecret{info, content}
	}
	return content, nil
}

func (d *secretDir) file(name string) string { return filepath.Join(d.path, name) }

func sameFile(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// judgeRoot refuses a directory that others may put files into.
func (d *secretDir) judgeRoot(name string, root *os.Root) error {
	info, err := root.Stat(".")
	switch {
	case err != nil:
		return d.unreadable(name, d.path, err)
	case info.Mode().Perm()&0o022 != 0:
		return d.refuse(name, fmt.Sprintf("%s has mode %04o: others than its owner may put files there", d.path, info.Mode().Perm()), "chmod 700 "+d.path)
	}
	return nil
}

// judge refuses a file that is no secret: a link or device leads elsewhere, and what others can read or put there is none.
func (d *secretDir) judge(name string, info os.FileInfo) error {
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return d.refuse(name, d.file(name)+" is not a regular file", "put the password itself there, not a link to it")
	case known && owner.Uid != 0 && int(owner.Uid) != os.Geteuid():
		return d.refuse(name, fmt.Sprintf("%s belongs to user %d", d.file(name), owner.Uid), fmt.Sprintf("chown %d %s", os.Geteuid(), d.file(name)))
	case info.Mode().Perm()&0o077 != 0:
		return d.refuse(name, fmt.Sprintf("%s has mode %04o: others than its owner may use it", d.file(name), info.Mode().Perm()), "chmod 600 "+d.file(name))
	case info.Size() > maxSecret:
		return d.refuse(name, fmt.Sprintf("%s has %d bytes, want at most %d", d.file(name), info.Size(), maxSecret), "a secret is one line")
	}
	return nil
}

// open reads the file that was judged, and no other that took its place meanwhile.
func (d *secretDir) open(root *os.Root, name string, judged os.FileInfo) (string, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return "", d.unreadable(name, d.file(name), err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return "", d.unreadable(name, d.file(name), err)
	}
	if !os.SameFile(info, judged) {
		return "", d.refuse(name, d.file(name)+" was replaced while it was read", "it is read again at the next look")
	}
	content, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	if err != nil {
		return "", d.unreadable(name, d.file(name), err)
	}
	return d.line(name, string(content))
}

// line returns the only line of a secret's text. No message quotes any of it.
func (d *secretDir) line(name, text string) (string, error) {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	switch {
	case text == "":
		return "", d.refuse(name, d.file(name)+" is empty", "put the password there, as one line")
	case len(text) > maxSecret:
		return "", d.refuse(name, fmt.Sprintf("%s has more than %d bytes", d.file(name), maxSecret), "a secret is one line")
	case strings.ContainsAny(text, "\r\n"):
		return "", d.refuse(name, d.file(name)+" has several lines", "a secret is one line")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return "", d.refuse(name, d.file(name)+" has characters that cannot be typed", "use a password of printable characters in UTF-8")
	}
	return text, nil
}

func (d *secretDir) refuse(name, reason, hint string) error {
	return &secret.Error{Name: name, Reason: reason, Hint: hint}
}

// unreadable tells what the system answered, and what usually helps against it.
func (d *secretDir) unreadable(name, path string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, fs.ErrNotExist) && path == d.path:
		hint = "make the directory that secrets_dir names: install -d -m 700 " + d.path
	case errors.Is(err, fs.ErrNotExist):
		hint = "put the password into " + path + ", readable by the agent alone"
	case errors.Is(err, fs.ErrPermission):
		hint = fmt.Sprintf("let user %d, as whom the agent runs, own it: chown %d %s", os.Geteuid(), os.Geteuid(), path)
	}
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return d.refuse(name, fmt.Sprintf("open %s: %v", path, err), hint)
}
