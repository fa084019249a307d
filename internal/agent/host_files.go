package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"gitops-agent/internal/shell"

	"gitops-agent/reconcile/hostfile"
)

// HostFileError means that a file on the agent's host has the wrong owner or mode. Fix is the command that corrects it.
type HostFileError struct {
	Problem string
	Fix     string
}

// Error returns the problem and the command.
func (e *HostFileError) Error() string { return e.Problem + ": " + e.Fix }

// privateFiles returns the files with tokens and keys.
func (c Config) privateFiles() []hostFile {
	files := []hostFile{
		{"proxmox.token_file", c.Proxmox.TokenFile},
		{"source.webhook_token_file", c.Source.WebhookTokenFile},
		{"status.token_file", c.Status.TokenFile},
		{"status.web_config_file", c.Status.WebConfigFile},
	}
	for i, w := range c.Source.Webhooks {
		files = append(files, hostFile{fmt.Sprintf("source.webhooks[%d].secret_file", i), w.SecretFile})
	}
	files = append(files, hostFile{"commit_status.token_file", c.CommitStatus.TokenFile}, hostFile{"traces.headers_file", c.Traces.HeadersFile}, hostFile{"attest.key_file", c.Attest.KeyFile})
	for i, identity := range c.Secrets.AgeIdentities {
		files = append(files, hostFile{fmt.Sprintf("secrets.age_identities[%d].file", i), identity.File})
	}
	for i, r := range c.Notifications.Receivers {
		receiver := fmt.Sprintf("notifications.receivers[%d].", i)
		files = append(files, hostFile{receiver + "url_file", r.URLFile}, hostFile{receiver + "token_file", r.TokenFile}, hostFile{receiver + "email.password_file", r.Email.PasswordFile})
	}
	for i, r := range c.Source.Remotes {
		remote := fmt.Sprintf("source.remotes[%d].", i)
		files = append(files, hostFile{remote + "token_file", r.TokenFile}, hostFile{remote + "ssh_key_file", r.SSHKeyFile})
	}
	return files
}

// checkPrivateFiles returns an error for each token and key that other users can read or change. A missing file is not its problem: the
// reader of the file reports it.
func (c Config) checkPrivateFiles() error {
	var problems []error
	for _, f := range c.privateFiles() {
		problems = append(problems, checkPrivate(f.field, f.path))
	}
	return errors.Join(problems...)
}

// checkPrivate returns an error if users other than the owner and the group may read the file, or users other than the owner may change it.
// The group may read it, so that root can own the file and the agent's group can read it.
func checkPrivate(field, path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil //nolint:nilerr // the reader of the file reports it
	}
	if mode := info.Mode().Perm(); mode&0o027 != 0 {
		return &HostFileError{
			Problem: fmt.Sprintf("%s: %s has mode %04o, so other users may read or change it", field, path, mode),
			Fix:     "chmod g-w,o= " + shell.Word(path),
		}
	}
	return nil
}

// stateNames returns the entries of the state directory that the agent reads and replaces. The file of a pause is not among them: it also stops
// all writes if root made it and the agent cannot read it.
func stateNames() []string {
	names := []string{"journal", "repository", "repository.new", "repository.old", "trust", secretKeyFile, notificationsFile, "attestations"}
	for _, name := range hostfile.Names() {
		if name != hostfile.Pause {
			names = append(names, string(name))
		}
	}
	return names
}

// checkStateOwner returns an error if the state directory, or a file of the agent in it, belongs to another user. The agent could not read or
// replace such a file: one file that root made would stop the service at its next start.
func checkStateOwner(dir string, user int) error {
	check := func(path string, info fs.FileInfo) error {
		if owner, known := info.Sys().(*syscall.Stat_t); known && int(owner.Uid) != user {
			return foreignState(dir, path, int(owner.Uid), user)
		}
		return nil
	}
	info, err := os.Stat(dir)
	if err == nil {
		err = check(dir, info)
	}
	for _, name := range stateNames() {
		if err != nil {
			break
		}
		err = filepath.WalkDir(filepath.Join(dir, name), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // there is none, or it was removed meanwhile
			}
			if d == nil {
				return err
			}
			info, infoErr := d.Info()
			if errors.Is(infoErr, fs.ErrNotExist) {
				return nil
			}
			if infoErr != nil {
				return infoErr
			}
			return errors.Join(check(path, info), err)
		})
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the agent makes the directory
	}
	if err != nil {
		return fmt.Errorf("check the owner of the agent's state: %w", err)
	}
	return nil
}

// foreignState describes a path in the state directory that belongs to another user. If root runs the agent on the directory of another user,
// the remedy is to run it as that user; otherwise the remedy is to change the owner.
func foreignState(dir, path string, owner, user int) error {
	e := &HostFileError{Problem: fmt.Sprintf("%s belongs to user %d, but the agent runs as user %d", path, owner, user)}
	if user == 0 && path == dir {
		e.Fix = fmt.Sprintf("run it as the agent's user: setpriv --reuid %d --clear-groups gitops-agent …, or sudo -u '#%d' gitops-agent …", owner, owner)
	} else {
		e.Fix = fmt.Sprintf("chown -R --no-dereference %d %s", user, shell.Word(dir))
	}
	return e
}

// checkEncrypted returns an error for each endpoint without TLS: the token would be sent unencrypted.
func (c *Config) checkEncrypted() error {
	var problems []error
	for i, endpoint := range c.Proxmox.Endpoints {
		u, err := url.Parse(endpoint)
		if err != nil || u.Scheme != "http" {
			continue // the client reports every other mistake
		}
		u.Scheme = "https"
		port := u.Port()
		if port == "" {
			port = "8006"
		}
		problems = append(problems, fmt.Errorf("proxmox.endpoints[%d]: http would send the token unencrypted: write %s, with the fingerprint from "+
			"openssl s_client -connect %s:%s </dev/null | openssl x509 -noout -fingerprint -sha256 in proxmox.fingerprints", i, u.Redacted(), u.Hostname(), port))
	}
	return errors.Join(problems...)
}
