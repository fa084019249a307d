package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"gitops-agent/internal/proxmox"
)

// Check checks everything that it can check without the network and without the state directory: the policy, the options of the clients, and
// the files that the config names. The error contains every problem.
func (c Config) Check() error {
	_, policyErr := c.pinnedPolicy()
	_, rootsErr := c.Checks.roots()
	_, logErr := c.Trust.log()
	_, rulesErr := c.Rules()
	return errors.Join(policyErr, rootsErr, logErr, rulesErr, c.checkPrivateFiles(), c.checkTrustedFiles(), c.checkAnchor(), c.checkProxmox(), c.checkSource(), c.checkFiles(), c.checkSecrets(), c.checkAccess(), c.checkWebhookSecrets(), c.checkNotifications(), c.checkCommitStatus(), c.checkTraces(), c.checkAttest(), c.checkPromotion(), c.checkEtcd())
}

// checkAnchor returns an error for the placeholder of the example.
func (c Config) checkAnchor() error {
	if c.Trust.Anchor == "" || strings.Trim(c.Trust.Anchor, "0") != "" {
		return nil
	}
	return errors.New("trust.anchor is the example's placeholder: set it to the full id of a commit of the repository that you reviewed")
}

func (c Config) checkProxmox() error {
	reader, err := proxmox.NewReader(c.proxmoxOptions(slog.New(slog.DiscardHandler), nil)) // checkPrivateFiles checks its token
	if err != nil {
		return err
	}
	reader.Close()
	return proxmox.CheckToken(c.Proxmox.TokenFile)
}

// checkSource opens a store in a temporary directory, because opening creates a store if there is none.
func (c Config) checkSource() error {
	dir, err := os.MkdirTemp("", "gitops-agent-check-")
	if err != nil {
		return fmt.Errorf("check source: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if _, err := c.OpenSource(dir, slog.New(slog.DiscardHandler)); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	return nil
}

// checkFiles opens the files that are read later. The files of trust and proxmox have already been read.
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

// checkSecrets checks the directory of secrets. The agent itself would detect a problem only when a guest needs a secret.
func (c Config) checkSecrets() error {
	var problems []error
	for i, identity := range c.Secrets.AgeIdentities {
		if _, err := readIdentities(identity.File); err != nil {
			problems = append(problems, fmt.Errorf("secrets.age_identities[%d].file: %s: %w", i, identity.File, err))
		}
	}
	return errors.Join(append(problems, c.checkSecretsDir())...)
}

func (c Config) checkSecretsDir() error {
	if c.SecretsDir == "" {
		return nil
	}
	info, err := os.Stat(c.SecretsDir)
	switch {
	case err != nil:
		return fmt.Errorf("secrets_dir: %w", err)
	case !info.IsDir():
		return fmt.Errorf("secrets_dir: %s is not a directory, want a directory with one file per secret", c.SecretsDir)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("secrets_dir: %s has mode %04o, so other users may create files in it: chmod 700 %s", c.SecretsDir, info.Mode().Perm(), c.SecretsDir)
	}
	return nil
}

func checkFile(field, path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Open(path) //nolint:gosec // the operator chooses the path
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	return file.Close()
}
