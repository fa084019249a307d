package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeWithMode makes a file with exactly this mode, independent of the umask.
func writeWithMode(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // it may not be writable
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestFilesThatOtherUsersCanReadAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "it's a token")
	fields := map[string]func(*Config){
		"proxmox.token_file":             func(c *Config) { c.Proxmox.TokenFile = path },
		"source.webhook_token_file":      func(c *Config) { c.Source.WebhookTokenFile = path },
		"source.remotes[0].token_file":   func(c *Config) { c.Source.Remotes = []RemoteConfig{{TokenFile: path}} },
		"source.remotes[0].ssh_key_file": func(c *Config) { c.Source.Remotes = []RemoteConfig{{SSHKeyFile: path}} },
	}
	for mode, accepted := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: true, 0o644: false, 0o604: false, 0o660: false, 0o602: false, 0o777: false} {
		writeWithMode(t, path, mode)
		for field, set := range fields {
			var c Config
			set(&c)
			err := c.checkPrivateFiles()
			if accepted {
				if err != nil {
					t.Errorf("%s of mode %04o: got %v, want accepted", field, mode, err)
				}
				continue
			}
			if err == nil || !strings.HasPrefix(err.Error(), field+": ") || !strings.HasSuffix(err.Error(), `: chmod g-w,o= '`+dir+`/it'\''s a token'`) {
				t.Errorf("%s of mode %04o: got %v, want a refusal with the chmod command", field, mode, err)
			}
		}
	}
	if err := (Config{Proxmox: ProxmoxConfig{TokenFile: filepath.Join(dir, "none")}}).checkPrivateFiles(); err != nil {
		t.Errorf("missing file: got %v, want the error of its reader alone", err)
	}
}

func TestSecretKeyThatOtherUsersCanReadIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := secretKey(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "secrets.key")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := secretKey(dir); err == nil || !strings.HasSuffix(err.Error(), "chmod g-w,o= "+path) {
		t.Errorf("got %v, want a refusal with the chmod command", err)
	}
}

func TestStateOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	user := os.Geteuid()
	for _, name := range []string{"journal/lock", "journal/0001.wal", "repository/objects/aa/bb", "trust/root.json", "secrets.key", "allow-rewrite", "recover"} {
		writeWithMode(t, filepath.Join(dir, name), 0o600)
	}
	if err := errors.Join(checkStateOwner(dir, user), checkStateOwner(filepath.Join(dir, "none"), user)); err != nil {
		t.Errorf("own state: got %v, want none", err)
	}
	err := checkStateOwner(dir, user+1)
	var file *HostFileError
	if !errors.As(err, &file) || !strings.Contains(file.Problem, dir+" belongs to user") || !strings.HasPrefix(file.Fix, "chown -R --no-dereference ") || !strings.HasSuffix(file.Fix, " "+dir) {
		t.Errorf("directory of another user: got %v, want the chown command", err)
	}
	if err := foreignState(dir, dir, 998, 0); !errors.As(err, &file) || !strings.Contains(file.Fix, "setpriv --reuid 998") {
		t.Errorf("root in the directory of user 998: got %v, want the command to run it as that user", err)
	}
	if user != 0 {
		return // only root can give files to other users
	}
	for _, name := range []string{"journal", "journal/lock", "journal/0001.wal", "repository/objects/aa/bb", "trust/root.json", "secrets.key", "allow-rewrite", "recover"} {
		path := filepath.Join(dir, name)
		if err := os.Lchown(path, 4711, 4711); err != nil {
			t.Fatal(err)
		}
		want := path + " belongs to user 4711, but the agent runs as user 0: chown -R --no-dereference 0 " + dir
		if err := checkStateOwner(dir, 0); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
		if err := os.Lchown(path, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"paused", "lost+found", "notes.txt"} { // not files that the agent must be able to replace
		writeWithMode(t, filepath.Join(dir, name), 0o600)
		if err := os.Lchown(filepath.Join(dir, name), 4711, 4711); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkStateOwner(dir, 0); err != nil {
		t.Errorf("other files: got %v, want none", err)
	}
}

func TestEndpointsWithoutTLSAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"https://pve1.lan:8006": "",
		"http://pve1.lan:8006":  "write https://pve1.lan:8006, with the fingerprint from openssl s_client -connect pve1.lan:8006 ",
		"http://127.0.0.1":      "write https://127.0.0.1, with the fingerprint from openssl s_client -connect 127.0.0.1:8006 ",
		"HTTP://localhost:80":   "write https://localhost:80, ",
	}
	for endpoint, want := range tests {
		c := Config{Proxmox: ProxmoxConfig{Endpoints: []string{endpoint}}}
		switch err := c.checkEncrypted(); {
		case want == "" && err != nil:
			t.Errorf("%s: got %v, want accepted", endpoint, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), "proxmox.endpoints[0]: http would send the token unencrypted: "+want)):
			t.Errorf("%s: got %v, want %q", endpoint, err, want)
		}
	}
}
