package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"gitops-agent/internal/shell"
	"gitops-agent/reconcile/hostfile"
)

// hostFile is a file that the config names, or the config itself.
type hostFile struct{ field, path string }

// trustedFiles returns the files that decide whom the agent trusts, and what it sends as its own, without those of secrets_dir, which are checked when they are read.
func (c Config) trustedFiles() []hostFile {
	files := []hostFile{
		{"state_dir", c.StateDir},
		{"secrets_dir", c.SecretsDir},
		{"the config", c.file},
		{"trust.trusted_root_file", c.Trust.TrustedRootFile},
		{"trust.tuf.root_file", c.Trust.TUF.RootFile},
		{"trust.rekor_ca_file", c.Trust.RekorCAFile},
		{"proxmox.ca_file", c.Proxmox.CAFile},
		{"journal.etcd.ca_file", c.Journal.Etcd.CAFile},
		{"checks.ca_file", c.Checks.CAFile},
		{"commit_status.ca_file", c.CommitStatus.CAFile},
		{"traces.ca_file", c.Traces.CAFile},
	}
	for i, r := range c.Notifications.Receivers {
		files = append(files, hostFile{fmt.Sprintf("notifications.receivers[%d].ca_file", i), r.CAFile})
	}
	for i, r := range c.Source.Remotes {
		files = append(files, hostFile{fmt.Sprintf("source.remotes[%d].known_hosts_file", i), r.KnownHostsFile}, hostFile{fmt.Sprintf("source.remotes[%d].ca_file", i), r.CAFile})
	}
	for i, path := range c.Trust.Promotion.KeyFiles {
		files = append(files, hostFile{fmt.Sprintf("trust.promotion.key_files[%d]", i), path})
	}
	for i, path := range c.Policies {
		files = append(files, hostFile{fmt.Sprintf("policies[%d]", i), path})
		inFolder, _ := filepath.Glob(filepath.Join(path, "*")) // none if it is a file
		for _, file := range inFolder {
			files = append(files, hostFile{fmt.Sprintf("policies[%d]", i), file})
		}
	}
	return append(files, c.privateFiles()...)
}

// checkTrustedFiles returns a *HostFileError for each file of trustedFiles that other users than root and the agent's may change, by the file itself, a link to it or a folder above it. If
// root checks the config, the owner of the state directory counts as the agent's user.
func (c Config) checkTrustedFiles() error {
	var users []int
	if os.Geteuid() == 0 {
		users = ownerOf(c.StateDir)
	}
	var problems []error
	seen := make(map[string]bool)
	for _, f := range c.trustedFiles() {
		if f.path == "" {
			continue
		}
		err := hostfile.CheckTrusted(f.path, users...)
		var unsafe *hostfile.UnsafeError
		if !errors.As(err, &unsafe) || seen[unsafe.Path] {
			continue // the reader of the file reports every other error
		}
		seen[unsafe.Path] = true
		problems = append(problems, unsafeFile(f.field, f.path, unsafe))
	}
	return errors.Join(problems...)
}

// unsafeFile is the error about a file that a field of the config names.
func unsafeFile(field, path string, unsafe *hostfile.UnsafeError) error {
	where := field + ": " + path
	if absolute, err := filepath.Abs(path); err != nil || absolute != unsafe.Path {
		where += ": " + unsafe.Path
	}
	return &HostFileError{Problem: where + " " + unsafe.Problem + ", so other users may change it, and with it whom the agent trusts", Fix: unsafe.Fix + " " + shell.Word(unsafe.Path)}
}

// ownerOf returns the owner of a path, if it is known.
func ownerOf(path string) []int {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if owner, known := info.Sys().(*syscall.Stat_t); known {
		return []int{int(owner.Uid)}
	}
	return nil
}
