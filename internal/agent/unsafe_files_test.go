package agent

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestFilesThatOtherUsersMayChangeAreRefused names one file after the other that lies in a folder that everybody may write. A check of the config, which a start and a reload run too,
// refuses each.
func TestFilesThatOtherUsersMayChangeAreRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "open")
	path := filepath.Join(dir, "file")
	writeWithMode(t, path, 0o600)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	fields := map[string]func(*Config){
		"the config":                         func(c *Config) { c.file = path },
		"trust.trusted_root_file":            func(c *Config) { c.Trust.TrustedRootFile = path },
		"trust.tuf.root_file":                func(c *Config) { c.Trust.TUF.RootFile = path },
		"trust.promotion.key_files[0]":       func(c *Config) { c.Trust.Promotion.KeyFiles = []string{path} },
		"policies[0]":                        func(c *Config) { c.Policies = []string{path} },
		"proxmox.ca_file":                    func(c *Config) { c.Proxmox.CAFile = path },
		"proxmox.token_file":                 func(c *Config) { c.Proxmox.TokenFile = path },
		"status.web_config_file":             func(c *Config) { c.Status.WebConfigFile = path },
		"attest.key_file":                    func(c *Config) { c.Attest.KeyFile = path },
		"secrets.age_identities[0].file":     func(c *Config) { c.Secrets.AgeIdentities = []AgeIdentityConfig{{File: path}} },
		"source.remotes[0].known_hosts_file": func(c *Config) { c.Source.Remotes = []RemoteConfig{{KnownHostsFile: path}} },
		"source.remotes[0].ssh_key_file":     func(c *Config) { c.Source.Remotes = []RemoteConfig{{SSHKeyFile: path}} },
		"journal.etcd.ca_file":               func(c *Config) { c.Journal.Etcd.CAFile = path },
		"journal.etcd.cert_file":             func(c *Config) { c.Journal.Etcd.CertFile = path },
		"journal.etcd.key_file":              func(c *Config) { c.Journal.Etcd.KeyFile = path },
		"journal.etcd.password_file":         func(c *Config) { c.Journal.Etcd.PasswordFile = path },
		"notifications.receivers[0].email.password_file": func(c *Config) {
			c.Notifications.Receivers = []ReceiverConfig{{Email: EmailConfig{PasswordFile: path}}}
		},
		"state_dir":                      func(c *Config) { c.StateDir = path },
		"source.webhooks[0].secret_file": func(c *Config) { c.Source.Webhooks = []WebhookConfig{{SecretFile: path}} },
	}
	for field, set := range fields {
		var c Config
		set(&c)
		err := c.checkTrustedFiles()
		var file *HostFileError
		if !errors.As(err, &file) || file.Problem != field+": "+path+": "+dir+" has mode 0777, so other users may change it, and with it whom the agent trusts" || file.Fix != "chmod go-w "+dir {
			t.Errorf("%s: got %v, want it refused with the command", field, err)
		}
	}
	if _, err := readAgentRoot(path); err == nil || !strings.HasPrefix(err.Error(), "trust.trusted_root_file: ") {
		t.Errorf("trusted root of a running agent: got %v, want it refused", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for field, set := range fields {
		var c Config
		if set(&c); c.checkTrustedFiles() != nil {
			t.Errorf("%s: got %v in a safe folder", field, c.checkTrustedFiles())
		}
	}
	if _, err := readAgentRoot(path); err != nil {
		t.Errorf("trusted root in a safe folder: got %v", err)
	}
}

// TestFilesOfTheAgentsUser: root checks the config of an agent that runs as the owner of the state directory.
func TestFilesOfTheAgentsUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to other users")
	}
	dir := t.TempDir()
	path, state := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "state")
	writeWithMode(t, path, 0o600)
	if err := errors.Join(os.Mkdir(state, 0o700), os.Chown(path, 4711, 4711)); err != nil {
		t.Fatal(err)
	}
	c := Config{file: path, StateDir: state}
	if err := c.checkTrustedFiles(); err == nil || !strings.Contains(err.Error(), path+" belongs to user 4711") {
		t.Errorf("got %v, want the file of another user refused", err)
	}
	if err := os.Chown(state, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	if err := c.checkTrustedFiles(); err != nil {
		t.Errorf("got %v, want the file of the agent's user accepted", err)
	}
}

// TestEachFile finds what names a file by its field, and nothing that no text is.
func TestEachFile(t *testing.T) {
	t.Parallel()
	c := Config{StateDir: "/s", Trust: TrustConfig{Promotion: PromotionConfig{KeyFiles: []string{"/a", "/b"}}}, Proxmox: ProxmoxConfig{VMListFile: "/v"}}
	got := map[string]string{}
	eachFile(reflect.ValueOf(c), "", func(field, path string) {
		if path != "" {
			got[field] = path
		}
	})
	want := map[string]string{"state_dir": "/s", "trust.promotion.key_files[0]": "/a", "trust.promotion.key_files[1]": "/b", "proxmox.vmlist_file": "/v"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
