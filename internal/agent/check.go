package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"gitops-agent/gitsource"
)

// Check makes everything that the config describes and that can be made without the network and without the state directory: the
// policy, the clients' options, and the files that they read. The error names every problem.
func (c Config) Check() error {
	_, policyErr := c.pinnedPolicy()
	return errors.Join(policyErr, c.checkAnchor(), c.checkProxmox(), c.checkSource(), c.checkFiles(), c.checkSecrets())
}

// checkAnchor tells the placeholder of the example from a commit.
func (c Config) checkAnchor() error {
	if c.Trust.Anchor == "" || strings.Trim(c.Trust.Anchor, "0") != "" {
		return nil
	}
	return errors.New("trust.anchor is the example's placeholder: name a commit of the repository that you reviewed, by its full id")
}

func (c Config) checkProxmox() error {
	reader, err := c.ProxmoxReader(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	reader.Close()
	return nil
}

// checkSource opens a store in a directory of its own, since opening makes one where none is.
func (c Config) checkSource() error {
	dir, err := os.MkdirTemp("", "gitops-agent-check-")
	if err != nil {
		return fmt.Errorf("check source: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	opts := c.sourceOptions(slog.New(slog.DiscardHandler))
	opts.Dir = dir
	if _, err := gitsource.Open(opts); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	return nil
}

// checkFiles opens the files whose content is read later. Those of trust and proxmox were read by now.
func (c Config) checkFiles() error {
	problems := []error{
		checkFile("source.webhook_token_file", c.Source.WebhookTokenFile), checkFile("trust.tuf.root_file", c.Trust.TUF.RootFile),
	}
	for i, r := range c.Source.Remotes {
		remote := fmt.Sprintf("source.remotes[%d].", i)
		problems = append(problems, checkFile(remote+"token_file", r.TokenFile), checkFile(remote+"ssh_key_file", r.SSHKeyFile),
			checkFile(remote+"known_hosts_file", r.KnownHostsFile), checkFile(remote+"ca_file", r.CAFile))
	}
	return errors.Join(problems...)
}

// checkSecrets looks at the directory of secrets, which the agent would otherwise miss when the first guest needs one.
func (c Config) checkSecrets() error {
	if c.SecretsDir == "" {
		return nil
	}
	info, err := os.Stat(c.SecretsDir)
	switch {
	case err != nil:
		return fmt.Errorf("secrets_dir: %w", err)
	case !info.IsDir():
		return fmt.Errorf("secrets_dir: %s is not a directory", c.SecretsDir)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("secrets_dir: %s has mode %04o: others than its owner may put files there (chmod 700 %s)", c.SecretsDir, info.Mode().Perm(), c.SecretsDir)
	}
	return nil
}

func checkFile(field, path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Open(path) //nolint:gosec // the path is the operator's own
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	return file.Close()
}
