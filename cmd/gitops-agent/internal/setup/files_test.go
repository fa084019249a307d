package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOwnersAndModes writes the files of init under a strict umask: as root for the agent's service, whose user and group need no entry in the host's files, as
// root without that user, and as the current user.
func TestOwnersAndModes(t *testing.T) { //nolint:paralleltest // the umask is that of the process
	defer syscall.Umask(syscall.Umask(0o077))
	own := fmt.Sprintf(" %d %d", os.Geteuid(), os.Getegid())
	tests := map[string]struct {
		owner owner
		want  map[string]string
	}{
		"current_user": {owner{}, map[string]string{"etc": "0700" + own, "etc/config.yaml": "0600" + own, "etc/token": "0600" + own, "etc/trusted_root.json": "0644" + own}},
	}
	if os.Geteuid() == 0 {
		tests["service"] = struct {
			owner owner
			want  map[string]string
		}{owner{true, 64001, 64002}, map[string]string{
			"etc": "0750 0 64002", "etc/config.yaml": "0640 0 64002", "etc/token": "0640 0 64002", "etc/trusted_root.json": "0644 0 64002", "state": "0700 64001 64002",
		}}
	}
	for name, test := range tests {
		dir := t.TempDir()
		path := func(name string) string { return filepath.Join(dir, name) }
		files := []file{{path: path("etc/trusted_root.json")}, {path: path("etc/token"), mode: modeSecret}, {path: path("etc/config.yaml"), mode: modeSecret}}
		for range 2 { // the second time, everything is there
			if _, err := write(t.Context(), files, path("state"), test.owner); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(test.want, ownersBelow(t, dir)); diff != "" {
				t.Errorf("%s: owners and modes (-want +got):\n%s", name, diff)
			}
		}
	}
}

// ownersBelow returns mode, user and group of everything below a directory.
func ownersBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		stat := info.Sys().(*syscall.Stat_t)
		found[name] = fmt.Sprintf("%04o %d %d", info.Mode().Perm(), stat.Uid, stat.Gid)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
