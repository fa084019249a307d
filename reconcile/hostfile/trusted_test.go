package hostfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/reconcile/hostfile"
)

const other = 4711 // a user that does not exist

// TestCheckTrusted makes a tree for each case and checks the file "file" in it, or another one. Entries are in the order in which they are made.
func TestCheckTrusted(t *testing.T) {
	t.Parallel()
	type entry struct {
		path string
		mode fs.FileMode // with ModeDir for a folder, ModeSymlink for a link
		to   string      // of a link
		uid  int         // of the owner; 0 is the user of the test
		gid  int
	}
	const dir, link, sticky = fs.ModeDir, fs.ModeSymlink, fs.ModeSticky
	tests := map[string]struct {
		entries []entry
		path    string // "" is "file"
		problem string // "" is safe; begins with the path of what is wrong
	}{
		"private":                   {[]entry{{path: "file", mode: 0o600}}, "", ""},
		"readable_by_all":           {[]entry{{path: "file", mode: 0o444}}, "", ""},
		"readable_by_group":         {[]entry{{path: "file", mode: 0o440}}, "", ""},
		"missing":                   {nil, "", ""},
		"missing_folder":            {nil, "a/b/file", ""},
		"writable_by_all":           {[]entry{{path: "file", mode: 0o666}}, "", "file has mode 0666"},
		"writable_by_group":         {[]entry{{path: "file", mode: 0o660}}, "", "file has mode 0660"},
		"group_of_its_own":          {[]entry{{path: "file", mode: 0o660, uid: other, gid: other}}, "", "file belongs to user 4711"},
		"of_another_user":           {[]entry{{path: "file", mode: 0o400, uid: other}}, "", "file belongs to user 4711"},
		"folder_writable_by_all":    {[]entry{{path: "a", mode: dir | 0o777}, {path: "a/file", mode: 0o600}}, "a/file", "a has mode 0777"},
		"folder_writable_by_group":  {[]entry{{path: "a", mode: dir | 0o775}, {path: "a/file", mode: 0o600}}, "a/file", "a has mode 0775"},
		"folder_above":              {[]entry{{path: "a", mode: dir | 0o777}, {path: "a/b", mode: dir | 0o755}, {path: "a/b/file", mode: 0o600}}, "a/b/file", "a has mode 0777"},
		"folder_above_what_is_not":  {[]entry{{path: "a", mode: dir | 0o777}}, "a/b/file", "a has mode 0777"},
		"folder_of_another_user":    {[]entry{{path: "a", mode: dir | 0o755}, {path: "a/file", mode: 0o600}, {path: "a", uid: other}}, "a/file", "a belongs to user 4711"},
		"sticky":                    {[]entry{{path: "a", mode: dir | sticky | 0o777}, {path: "a/file", mode: 0o600}}, "a/file", ""},
		"sticky_of_another_user":    {[]entry{{path: "a", mode: dir | sticky | 0o777}, {path: "a/file", mode: 0o600}, {path: "a", uid: other}}, "a/file", "a belongs to user 4711"},
		"another_users_in_sticky":   {[]entry{{path: "a", mode: dir | sticky | 0o777}, {path: "a/file", mode: 0o600, uid: other}}, "a/file", "a/file belongs to user 4711"},
		"writable_in_sticky":        {[]entry{{path: "a", mode: dir | sticky | 0o777}, {path: "a/file", mode: 0o666}}, "a/file", "a/file has mode 0666"},
		"link":                      {[]entry{{path: "a", mode: dir | 0o755}, {path: "a/real", mode: 0o600}, {path: "file", mode: link, to: "a/real"}}, "", ""},
		"link_to_what_is_writable":  {[]entry{{path: "a", mode: dir | 0o777}, {path: "a/real", mode: 0o600}, {path: "file", mode: link, to: "a/real"}}, "", "a has mode 0777"},
		"link_of_another_user":      {[]entry{{path: "real", mode: 0o600}, {path: "file", mode: link, to: "real", uid: other}}, "", "file belongs to user 4711"},
		"link_upwards":              {[]entry{{path: "a", mode: dir | 0o755}, {path: "b", mode: dir | 0o755}, {path: "b/real", mode: 0o666}, {path: "a/file", mode: link, to: "../b/./real"}}, "a/file", "b/real has mode 0666"},
		"link_to_folder_and_back":   {[]entry{{path: "a", mode: dir | 0o755}, {path: "a/b", mode: dir | 0o755}, {path: "a/real", mode: 0o666}, {path: "l", mode: link, to: "a/b"}, {path: "file", mode: link, to: "l/../real"}}, "", "a/real has mode 0666"},
		"dangling":                  {[]entry{{path: "file", mode: link, to: "none/real"}}, "", ""},
		"secret_of_kubernetes":      {[]entry{{path: "s", mode: dir | sticky | 0o777}, {path: "s/..2026", mode: dir | 0o755}, {path: "s/..2026/token", mode: 0o440}, {path: "s/..data", mode: link, to: "..2026"}, {path: "s/token", mode: link, to: "..data/token"}}, "s/token", ""},
		"secret_of_docker":          {[]entry{{path: "run", mode: dir | 0o755}, {path: "run/token", mode: 0o444}}, "run/token", ""},
		"kubernetes_with_a_mistake": {[]entry{{path: "s", mode: dir | sticky | 0o777}, {path: "s/..2026", mode: dir | 0o777}, {path: "s/..2026/token", mode: 0o440}, {path: "s/..data", mode: link, to: "..2026"}, {path: "s/token", mode: link, to: "..data/token"}}, "s/token", "s/..2026 has mode 0777"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for _, e := range test.entries {
				path := filepath.Join(root, e.path)
				var err error
				switch {
				case e.mode == 0:
				case e.mode&link != 0:
					err = os.Symlink(e.to, path)
				case e.mode.IsDir():
					err = errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, e.mode&^fs.ModeDir))
				default:
					err = errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, e.mode))
				}
				if e.uid != 0 {
					if os.Geteuid() != 0 {
						t.Skip("only root can give files to other users")
					}
					err = errors.Join(err, os.Lchown(path, e.uid, e.gid))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			path := "file"
			if test.path != "" {
				path = test.path
			}
			err := hostfile.CheckTrusted(filepath.Join(root, path))
			var unsafe *hostfile.UnsafeError
			switch {
			case test.problem == "" && err != nil:
				t.Errorf("got %v, want it safe", err)
			case test.problem != "" && (!errors.As(err, &unsafe) || !strings.HasPrefix(err.Error(), filepath.Join(root, test.problem)+", so other users ")):
				t.Errorf("got %v, want %s", err, test.problem)
			}
			if os.Geteuid() == 0 && strings.HasSuffix(test.problem, "belongs to user 4711") {
				if err := hostfile.CheckTrusted(filepath.Join(root, path), other); err != nil {
					t.Errorf("trusted user: got %v, want it safe", err)
				}
			}
		})
	}
}

// TestReadOfUntrustedFile: a file that another user has put into the state directory while the agent runs is not read.
func TestReadOfUntrustedFile(t *testing.T) {
	t.Parallel()
	file := hostfile.File{Dir: t.TempDir(), Name: hostfile.AllowRewrite}
	if err := file.Write([]byte("id")); err != nil {
		t.Fatal(err)
	}
	if text, err := file.Read(); err != nil || string(text) != "id" {
		t.Fatalf("got %q and %v, want the file", text, err)
	}
	if err := os.Chmod(file.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if text, err := file.Read(); !errors.As(err, new(*hostfile.UnsafeError)) || len(text) > 0 {
		t.Errorf("in a folder that all may write: got %q and %v, want it refused", text, err)
	}
	if err := errors.Join(os.Chmod(file.Dir, 0o700), os.Chmod(file.Path(), 0o666)); err != nil {
		t.Fatal(err)
	}
	if text, err := file.Read(); !errors.As(err, new(*hostfile.UnsafeError)) || len(text) > 0 {
		t.Errorf("that all may write: got %q and %v, want it refused", text, err)
	}
}

// TestVolumeOfKubernetes checks a file below a volume that belongs to root and to the group of the agent, which Kubernetes sets with fsGroup.
func TestVolumeOfKubernetes(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to other groups")
	}
	volume := filepath.Join(t.TempDir(), "volume")
	if err := errors.Join(os.Mkdir(volume, 0o700), os.Chown(volume, 0, other), os.Chmod(volume, fs.ModeSetgid|0o775)); err != nil {
		t.Fatal(err)
	}
	if err := hostfile.CheckTrusted(filepath.Join(volume, "state"), other); err != nil {
		t.Errorf("got %v, want the group of the agent's user trusted", err)
	}
	if err := hostfile.CheckTrusted(filepath.Join(volume, "state")); err == nil {
		t.Error("got a folder safe that the group of another user may change")
	}
}
