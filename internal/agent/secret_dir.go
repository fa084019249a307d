package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/secret"
)

// secretDir is the directory of the secrets that manifests name. It accepts a file only if the file is regular and small, belongs to root or
// to the agent's user, and has no permissions for other users.
type secretDir struct {
	path string

	mu    sync.Mutex
	cache map[string]cachedSecret
}

// cachedSecret is a content, and the state of the file when it was read.
type cachedSecret struct {
	file    os.FileInfo
	content string
}

const (
	maxSecret = 4 << 10 // bytes of a file
	// settledAfter is the age from which a file's modification time changes with each later change of the file.
	settledAfter = 2 * time.Second
)

// secretName matches names of files directly in the directory.
var secretName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`) })

func newSecretDir(path string) *secretDir {
	return &secretDir{path: path, cache: make(map[string]cachedSecret)}
}

// read returns the only line of a secret's file, without the line break. It reads a file again only if the file changed. The error is a
// *secret.Error.
func (d *secretDir) read(name string) (string, error) {
	if !secretName().MatchString(name) {
		return "", d.newError(name, "the name is not valid", "name a file directly in "+d.path+", with letters, digits, dots, dashes and underscores")
	}
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return "", d.openError(name, d.path, err)
	}
	defer func() { _ = root.Close() }()
	if err := d.checkRoot(name, root); err != nil {
		return "", err
	}
	info, err := root.Lstat(name)
	if err != nil {
		return "", d.openError(name, d.file(name), err)
	}
	if err := d.checkFile(name, info); err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if cached, ok := d.cache[name]; ok && sameFile(cached.file, info) {
		return cached.content, nil
	}
	content, err := d.readFile(root, name, info)
	if err != nil {
		delete(d.cache, name)
		return "", err
	}
	if time.Since(info.ModTime()) > settledAfter {
		d.cache[name] = cachedSecret{info, content}
	}
	return content, nil
}

func (d *secretDir) file(name string) string { return filepath.Join(d.path, name) }

func sameFile(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// checkRoot returns an error if other users may create files in the directory.
func (d *secretDir) checkRoot(name string, root *os.Root) error {
	info, err := root.Stat(".")
	switch {
	case err != nil:
		return d.openError(name, d.path, err)
	case info.Mode().Perm()&0o022 != 0:
		return d.newError(name, fmt.Sprintf("%s has mode %04o, so other users may create files in it", d.path, info.Mode().Perm()), "chmod 700 "+d.path)
	}
	return nil
}

// checkFile returns an error for a link or a device, which is not the secret itself, and for a file that other users can read or write. A credential of
// systemd belongs to root and its group, and the agent's user reads it by an access control list. Its mode shows as 0440.
//
// Source: systemd 252, write_credential; acl(5), the mask shows as the permissions of the group.
func (d *secretDir) checkFile(name string, info os.FileInfo) error {
	owner, known := info.Sys().(*syscall.Stat_t)
	isCredential := known && owner.Uid == 0 && owner.Gid == 0 && info.Mode().Perm() == 0o440
	switch {
	case !info.Mode().IsRegular():
		return d.newError(name, d.file(name)+" is not a regular file", "replace it by a file that contains the password")
	case known && owner.Uid != 0 && int(owner.Uid) != os.Geteuid():
		return d.newError(name, fmt.Sprintf("%s belongs to user %d, want root or the agent's user", d.file(name), owner.Uid), fmt.Sprintf("chown %d %s", os.Geteuid(), d.file(name)))
	case info.Mode().Perm()&0o077 != 0 && !isCredential:
		return d.newError(name, fmt.Sprintf("%s has mode %04o, so other users may use it", d.file(name), info.Mode().Perm()), "chmod 600 "+d.file(name))
	case info.Size() > maxSecret:
		return d.newError(name, fmt.Sprintf("%s has %d bytes, want at most %d", d.file(name), info.Size(), maxSecret), "put only the password into the file, as one line")
	}
	return nil
}

// readFile reads the file that was checked. It returns an error if another file has replaced it since.
func (d *secretDir) readFile(root *os.Root, name string, checked os.FileInfo) (string, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return "", d.openError(name, d.file(name), err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return "", d.openError(name, d.file(name), err)
	}
	if !os.SameFile(info, checked) {
		return "", d.newError(name, d.file(name)+" was replaced while it was read", "the agent reads it again in the next cycle")
	}
	content, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	if err != nil {
		return "", d.openError(name, d.file(name), err)
	}
	return passwordOf(name, d.file(name), string(content))
}

func (d *secretDir) newError(name, reason, hint string) error {
	return &secret.Error{Name: name, Reason: reason, Hint: hint}
}

// openError returns the error of the operating system, with the usual remedy.
func (d *secretDir) openError(name, path string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, fs.ErrNotExist) && path == d.path:
		hint = "create the directory that secrets_dir names: install -d -m 700 " + d.path
	case errors.Is(err, fs.ErrNotExist):
		hint = "put the password into " + path + ", with mode 0600"
	case errors.Is(err, fs.ErrPermission):
		hint = fmt.Sprintf("make the agent's user the owner: chown %d %s", os.Geteuid(), path)
	}
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return d.newError(name, fmt.Sprintf("open %s: %v", path, err), hint)
}

// CheckSecret returns the reason why guests cannot get a secret, or nil. The error is a *secret.Error with a remedy. Call it as the agent's user or as
// root.
func (c Config) CheckSecret(s guest.Secret) error { return c.secretSource().Check(s) }

// secretSource returns the secrets on the host and in the repository, without the key of their fingerprints.
func (c Config) secretSource() secret.Source {
	source := secret.Source{}
	if c.SecretsDir != "" {
		source.Read = newSecretDir(c.SecretsDir).read
	}
	if len(c.Secrets.AgeIdentities) > 0 {
		source.Decrypt = newDecrypter(c.Secrets.AgeIdentities).decrypt
	}
	return source
}
