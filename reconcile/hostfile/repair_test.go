package hostfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRepair asks for the command that makes a file safe. No command gives the home of a person to root.
func TestRepair(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to other users")
	}
	const me, other = 4712, 4711 // users that do not exist
	dir := t.TempDir()
	mine, its, link := filepath.Join(dir, "mine"), filepath.Join(dir, "its"), filepath.Join(dir, "link")
	for path, owner := range map[string]int{mine: me, its: other, link: other} {
		err := os.Mkdir(path, 0o700)
		if path == link {
			_ = os.Remove(path)
			err = os.Symlink("mine", path)
		}
		if err == nil {
			err = os.Lchown(path, owner, owner)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const owned, writable = "belongs to user 4711", "has mode 0666"
	tests := map[string]struct {
		path, problem string
		like          string // has the owner and the kind of the path
		uid           int    // who runs the command
		want          string
	}{
		"home_for_root":               {"/home/ann", owned, its, 0, "move it out of that home and name its new place: mv /home/ann/agent.yaml /etc/gitops-agent/"},
		"home_for_another_person":     {"/home/ann", owned, its, me, `copy it to your own home and name its new place: cp /home/ann/agent.yaml "$HOME"/`},
		"file_of_the_system":          {"/etc/gitops-agent/agent.yaml", owned, its, 0, "chown root /etc/gitops-agent/agent.yaml"},
		"file_of_the_system_by_sudo":  {"/etc/gitops-agent/agent.yaml", owned, its, me, "sudo chown root /etc/gitops-agent/agent.yaml"},
		"in_a_folder_of_the_user":     {mine + "/agent.yaml", owned, its, me, "sudo chown 4712 " + mine + "/agent.yaml"},
		"in_a_folder_of_the_user_2":   {mine + "/agent.yaml", owned, its, 0, "chown root " + mine + "/agent.yaml"},
		"link":                        {"/etc/gitops-agent/agent.yaml", owned, link, 0, "chown -h root /etc/gitops-agent/agent.yaml"},
		"writable_and_of_the_user":    {"/home/ann", writable, mine, me, "chmod go-w /home/ann"},
		"writable_and_of_root_or_all": {"/srv/etc", writable, its, me, "sudo chmod go-w /srv/etc"},
		"writable_for_root":           {"/home/ann", writable, its, 0, "chmod go-w /home/ann"},
	}
	for name, test := range tests {
		info, err := os.Lstat(test.like)
		if err != nil {
			t.Fatal(err)
		}
		unsafe := &UnsafeError{Path: test.path, Problem: test.problem, isForeign: test.problem == owned}
		unsafe.fix = newRepair("/home/ann/agent.yaml", unsafe, info, test.uid)
		if got := unsafe.Command(func(path string) string { return path }); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
		if !strings.HasSuffix(unsafe.Error(), ": "+test.want) {
			t.Errorf("%s: got %v, want it to end with the command", name, unsafe)
		}
	}
}

func TestIsInHome(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		path, home string
		want       bool
	}{
		{"/home/ann", "/home/ann", true},
		{"/home/ann/agent.yaml", "/home/ann", true},
		{"/home/anna", "/home/ann", false},
		{"/srv/people/ann/agent.yaml", "/srv/people/ann", true},
		{"/etc/gitops-agent", "/home/ann", false},
		{"/home/ann", "", true},
		{"/etc/gitops-agent", "", false},
		{"/etc/gitops-agent", "/", false},
	} {
		if got := isInHome(test.path, test.home); got != test.want {
			t.Errorf("isInHome(%s, %s): got %t, want %t", test.path, test.home, got, test.want)
		}
	}
}
