package agent

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"gitops-agent/internal/shell"
)

// UnsafeFiles returns a *HostFileError for each file that decides whom the agent trusts, and for each directory of such a file, if other users than root and the
// current one may change it. Path is that of the config. Check refuses tokens and keys that others can read; these files are no secrets.
func (c Config) UnsafeFiles(path string) []error {
	files := []struct{ field, path string }{
		{"the config", path},
		{"trust.trusted_root_file", c.Trust.TrustedRootFile},
		{"trust.tuf.root_file", c.Trust.TUF.RootFile},
		{"proxmox.ca_file", c.Proxmox.CAFile},
		{"proxmox.token_file", c.Proxmox.TokenFile},
	}
	for i, r := range c.Source.Remotes {
		files = append(files, struct{ field, path string }{fmt.Sprintf("source.remotes[%d].known_hosts_file", i), r.KnownHostsFile},
			struct{ field, path string }{fmt.Sprintf("source.remotes[%d].ca_file", i), r.CAFile})
	}
	for i, path := range c.Trust.Promotion.KeyFiles {
		files = append(files, struct{ field, path string }{fmt.Sprintf("trust.promotion.key_files[%d]", i), path})
	}
	for i, path := range c.Policies {
		files = append(files, struct{ field, path string }{fmt.Sprintf("policies[%d]", i), path})
	}
	var problems []error
	seen := map[string]bool{"": true, ".": true}
	for _, f := range files {
		for _, at := range []string{f.path, filepath.Dir(f.path)} {
			if !seen[at] {
				seen[at] = true
				problems = appendProblem(problems, f.field, at)
			}
		}
	}
	return problems
}

func appendProblem(problems []error, field, path string) []error {
	info, err := os.Stat(path)
	if err != nil {
		return problems // Check reports it
	}
	if info.IsDir() {
		field = "the directory of " + field
	}
	mode := info.Mode()
	switch owner, known := info.Sys().(*syscall.Stat_t); {
	case mode.Perm()&0o022 != 0 && mode&fs.ModeSticky == 0:
		return append(problems, &HostFileError{
			Problem: fmt.Sprintf("%s: %s has mode %04o, so other users may change it, and with it whom the agent trusts", field, path, mode.Perm()), Fix: "chmod go-w " + shell.Word(path),
		})
	case known && owner.Uid != 0 && int(owner.Uid) != os.Geteuid():
		return append(problems, &HostFileError{
			Problem: fmt.Sprintf("%s: %s belongs to user %d, who may change it, and with it whom the agent trusts", field, path, owner.Uid), Fix: "chown root " + shell.Word(path),
		})
	}
	return problems
}
