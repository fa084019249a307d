package agent

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gitops-agent/reconcile/secret"
)

const sample = "correct horse battery staple"

// secretFolder returns a directory of secrets with one secret, web.
func secretFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "secrets")
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "web"), []byte(sample+"\n"), 0o600))
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSecretDirReads(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"line": sample + "\n", "no_end": sample, "windows_line": sample + "\r\n", "hash": "$6$salt$hash\n", "umlauts": "Grüße\n", "blanks": "  a b \n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			dir := secretFolder(t)
			must(t, os.WriteFile(filepath.Join(dir, "web"), []byte(text), 0o600))
			want := strings.TrimRight(text, "\r\n")
			if got, err := newSecretDir(dir).read("web"); err != nil || got != want {
				t.Errorf("got %q and %v, want %q", got, err, want)
			}
		})
	}
}

// TestSecretDirRefuses tries to make the agent read files that are not its secrets. No message may contain the content of a file.
func TestSecretDirRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		name    string
		prepare func(t *testing.T, dir string)
		reason  string
	}{
		"parent":      {"../web", nil, "the name is not valid"},
		"absolute":    {"/etc/shadow", nil, "the name is not valid"},
		"folder":      {"sub/web", nil, "the name is not valid"},
		"dot":         {".", nil, "the name is not valid"},
		"hidden":      {".web", nil, "the name is not valid"},
		"no_name":     {"", nil, "the name is not valid"},
		"nul":         {"web\x00", nil, "the name is not valid"},
		"line_break":  {"web\n", nil, "the name is not valid"},
		"long":        {strings.Repeat("a", 65), nil, "the name is not valid"},
		"missing":     {"db", nil, "no such file"},
		"link_out":    {"link", func(t *testing.T, dir string) { must(t, os.Symlink("/etc/hostname", filepath.Join(dir, "link"))) }, "not a regular file"},
		"link_inside": {"link", func(t *testing.T, dir string) { must(t, os.Symlink("web", filepath.Join(dir, "link"))) }, "not a regular file"},
		"directory":   {"sub", func(t *testing.T, dir string) { must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700)) }, "not a regular file"},
		"pipe":        {"pipe", func(t *testing.T, dir string) { must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)) }, "not a regular file"},
		"socket": {"socket", func(t *testing.T, dir string) {
			must(t, syscall.Mknod(filepath.Join(dir, "socket"), syscall.S_IFSOCK|0o600, 0))
		}, "not a regular file"},
		"others_read":     {"web", func(t *testing.T, dir string) { must(t, os.Chmod(filepath.Join(dir, "web"), 0o644)) }, "mode 0644"},
		"group_reads":     {"web", func(t *testing.T, dir string) { must(t, os.Chmod(filepath.Join(dir, "web"), 0o640)) }, "mode 0640"},
		"others_put":      {"web", func(t *testing.T, dir string) { must(t, os.Chmod(dir, 0o777)) }, "mode 0777"},
		"no_directory":    {"web", func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)) }, "no such file"},
		"empty":           {"web", replaced(""), "is empty"},
		"empty_line":      {"web", replaced("\n"), "is empty"},
		"two_lines":       {"web", replaced(sample + "\nmore\n"), "several lines"},
		"carriage_return": {"web", replaced(sample + "\rmore\n"), "several lines"},
		"bell":            {"web", replaced(sample + "\a"), "control characters"},
		"no_utf8":         {"web", replaced(sample + "\xff"), "control characters"},
		"large":           {"web", replaced(strings.Repeat("a", maxSecret+1)), "want at most"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := secretFolder(t)
			if test.prepare != nil {
				test.prepare(t, dir)
			}
			got, err := newSecretDir(dir).read(test.name)
			var refused *secret.Error
			if !errors.As(err, &refused) || got != "" || !strings.Contains(err.Error(), test.reason) || refused.Hint == "" {
				t.Errorf("got %q and %#v, want a refusal with a hint about %q", got, err, test.reason)
			}
			if err != nil && (strings.Contains(err.Error(), "horse") || strings.Contains(refused.Hint, "horse")) {
				t.Errorf("got %v, which tells of the content", err)
			}
		})
	}
}

func replaced(text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) { must(t, os.WriteFile(filepath.Join(dir, "web"), []byte(text), 0o600)) }
}

// TestSecretDirSeesChanges changes a file in every way in which editors and deployments change files.
func TestSecretDirSeesChanges(t *testing.T) {
	t.Parallel()
	old := time.Now().Add(-time.Hour)
	other := strings.ToUpper(sample) + "\n" // of the same length
	tests := map[string]func(t *testing.T, path string){
		"in_place": func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte(other), 0o600)) },
		"renamed": func(t *testing.T, path string) {
			must(t, os.WriteFile(path+".new", []byte(other), 0o600))
			must(t, os.Chtimes(path+".new", old, old))
			must(t, os.Rename(path+".new", path))
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			dir := newSecretDir(secretFolder(t))
			must(t, os.Chtimes(dir.file("web"), old, old))
			for range 2 {
				if got, err := dir.read("web"); err != nil || got != sample {
					t.Fatalf("got %q and %v, want %q", got, err, sample)
				}
			}
			change(t, dir.file("web"))
			if got, err := dir.read("web"); err != nil || got != strings.ToUpper(sample) {
				t.Errorf("got %q and %v, want the new content", got, err)
			}
			must(t, os.Remove(dir.file("web")))
			if got, err := dir.read("web"); err == nil {
				t.Errorf("got %q of a file that is gone, want an error", got)
			}
		})
	}
}

// TestSecretDirDoesNotCacheNewFiles writes a file twice within one tick of a file system's clock.
func TestSecretDirDoesNotCacheNewFiles(t *testing.T) {
	t.Parallel()
	dir := newSecretDir(secretFolder(t))
	now := time.Now()
	for _, want := range []string{sample, strings.ToUpper(sample)} {
		must(t, os.WriteFile(dir.file("web"), []byte(want+"\n"), 0o600))
		must(t, os.Chtimes(dir.file("web"), now, now))
		if got, err := dir.read("web"); err != nil || got != want {
			t.Errorf("got %q and %v, want %q", got, err, want)
		}
	}
}

func TestSecretKeyLasts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := secretKey(dir)
	must(t, err)
	again, err := secretKey(dir)
	must(t, err)
	if len(first) != secretKeySize || !bytes.Equal(first, again) {
		t.Errorf("got %x and then %x, want one key of %d bytes", first, again, secretKeySize)
	}
	other, err := secretKey(t.TempDir())
	must(t, err)
	if bytes.Equal(first, other) {
		t.Errorf("got %x in two state directories, want two keys", first)
	}
	info, err := os.Stat(filepath.Join(dir, "secrets.key"))
	must(t, err)
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("got mode %04o, want 0600", got)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("got %v and %v, want the key alone", files, err)
	}
}

// A truncated key must not be replaced silently: with another key the agent would write every password again.
func TestSecretKeyRefusesAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "secrets.key"), []byte("short"), 0o600))
	if key, err := secretKey(dir); err == nil || !strings.Contains(err.Error(), "backup") {
		t.Errorf("got %x and %v, want an error that names a way out", key, err)
	}
}

func TestCheckNamesTheDirectoryOfSecrets(t *testing.T) {
	t.Parallel()
	open := secretFolder(t)
	must(t, os.Chmod(open, 0o777))
	tests := map[string]struct {
		dir, want string
	}{
		"none":      {"", ""},
		"good":      {secretFolder(t), ""},
		"missing":   {filepath.Join(t.TempDir(), "nowhere"), "no such file"},
		"no_folder": {filepath.Join(secretFolder(t), "web"), "not a directory"},
		"open":      {open, "mode 0777"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := Config{SecretsDir: test.dir}.checkSecrets()
			if got := err == nil; got != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// fileInfo is a regular file with a mode and an owner.
type fileInfo struct {
	mode     os.FileMode
	uid, gid uint32
}

func (f fileInfo) Name() string       { return "web" }
func (f fileInfo) Size() int64        { return 1 }
func (f fileInfo) Mode() os.FileMode  { return f.mode }
func (f fileInfo) ModTime() time.Time { return time.Time{} }
func (f fileInfo) IsDir() bool        { return false }
func (f fileInfo) Sys() any           { return &syscall.Stat_t{Uid: f.uid, Gid: f.gid} }

// TestSecretOfAnOwner reads files as systemd writes credentials: they belong to root, and the mask of their access control list shows as the permissions of the group.
func TestSecretOfAnOwner(t *testing.T) {
	t.Parallel()
	own := uint32(os.Geteuid())
	for info, accepted := range map[fileInfo]bool{
		{0o440, 0, 0}: true, {0o400, 0, 0}: true, {0o400, own, 1234}: true, {0o440, 0, 1234}: false, {0o440, own, 1234}: false,
		{0o640, 0, 0}: false, {0o444, 0, 0}: false, {0o460, 0, 0}: false, {0o400, own + 1, 0}: false,
	} {
		if err := newSecretDir("/secrets").checkFile("web", info); (err == nil) != accepted {
			t.Errorf("mode %04o of %d:%d: got %v, want accepted: %t", info.mode, info.uid, info.gid, err, accepted)
		}
	}
}
