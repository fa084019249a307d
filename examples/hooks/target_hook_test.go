package hooks_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clone is a repository of a contributor in which the hook is installed.
type clone struct {
	*testing.T
	dir string
}

func newClone(t *testing.T) clone {
	t.Helper()
	hook, err := os.ReadFile("prepare-commit-msg")
	if err != nil {
		t.Fatal(err)
	}
	c := clone{t, t.TempDir()}
	c.git("init", "--quiet", "--initial-branch=main")
	for _, setting := range []string{"user.name=Alice", "user.email=alice@lab.test", "gitops.cluster=home", "commit.gpgsign=false"} {
		key, value, _ := strings.Cut(setting, "=")
		c.git("config", key, value)
	}
	hooks := filepath.Join(c.dir, ".git", "hooks")
	if err := os.MkdirAll(hooks, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(hooks, "prepare-commit-msg"), hook, 0o755); err != nil {
		t.Fatal(err)
	}
	c.git("commit", "--quiet", "--allow-empty", "-m", "first")
	return c
}

// git runs git with an editor that writes a subject into the first line, as a person does.
func (c clone) git(args ...string) string {
	c.Helper()
	cmd := exec.CommandContext(c.Context(), "git", args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		`GIT_EDITOR=cp "$1" "$(git rev-parse --git-dir)/offered"; [ -n "$(head -n 1 "$1")" ] || sed -i '1s/^/more memory/' "$1" #`)
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestTargetHook(t *testing.T) {
	t.Parallel()
	const empty, quiet, target = "--allow-empty", "--quiet", "Gitops-Target: home/main"
	tests := map[string]struct {
		commands [][]string
		want     string // the message, without newlines at its end
	}{
		"message":       {[][]string{{"commit", quiet, empty, "-m", "web"}}, "web\n\n" + target},
		"editor":        {[][]string{{"commit", quiet, empty}}, "more memory\n\n" + target},
		"verbose":       {[][]string{{"commit", quiet, empty, "--verbose", "--cleanup=scissors"}}, "more memory\n\n" + target},
		"other_trailer": {[][]string{{"commit", quiet, empty, "-m", "web", "--trailer", "Fixes: x"}}, "web\n\nFixes: x\n" + target},
		"named_already": {[][]string{{"commit", quiet, empty, "-m", "web", "--trailer", target}}, "web\n\n" + target},
		"other_cluster": {
			[][]string{{"commit", quiet, empty, "-m", "web", "--trailer", "Gitops-Target: away/main"}}, "web\n\nGitops-Target: away/main\n" + target,
		},
		"amend":        {[][]string{{"commit", quiet, empty, "-m", "web"}, {"commit", quiet, empty, "--amend", "--no-edit"}}, "web\n\n" + target},
		"amend_editor": {[][]string{{"commit", quiet, empty, "-m", "web"}, {"commit", quiet, empty, "--amend"}}, "web\n\n" + target},
		"merge": {
			[][]string{{"switch", quiet, "-c", "side"}, {"commit", quiet, empty, "-m", "s"}, {"switch", quiet, "main"}, {"merge", quiet, "--no-ff", "--edit", "side"}},
			"Merge branch 'side'\n\n" + target,
		},
		"other_branch": {[][]string{{"switch", quiet, "-c", "feature/x"}, {"commit", quiet, empty, "-m", "web"}}, "web\n\nGitops-Target: home/feature/x"},
		"chosen_branch": {
			[][]string{{"config", "gitops.branch", "main"}, {"switch", quiet, "-c", "side"}, {"commit", quiet, empty, "-m", "web"}}, "web",
		},
		"detached":   {[][]string{{"switch", quiet, "--detach"}, {"commit", quiet, empty, "-m", "web"}}, "web"},
		"no_cluster": {[][]string{{"config", "--unset", "gitops.cluster"}, {"commit", quiet, empty, "-m", "web"}}, "web"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClone(t)
			for _, args := range tt.commands {
				c.git(args...)
			}
			if got := strings.TrimRight(c.git("log", "-1", "--format=%B"), "\n"); got != tt.want {
				t.Errorf("message: got %q, want %q", got, tt.want)
			}
		})
	}
}

// A revert names the target of the branch once, and keeps what git wrote.
func TestTargetHookRevert(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	if err := os.WriteFile(filepath.Join(c.dir, "web.yaml"), []byte("web\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.git("add", "web.yaml")
	c.git("commit", "--quiet", "-m", "web")
	c.git("revert", "--no-edit", "HEAD")
	got := c.git("log", "-1", "--format=%B")
	if !strings.HasPrefix(got, "Revert \"web\"\n\nThis reverts commit ") || !strings.HasSuffix(strings.TrimRight(got, "\n"), ".\n\nGitops-Target: home/main") {
		t.Errorf("message: got %q, want git's text and one trailer", got)
	}
}

// The editor shows the trailer above the comments and the scissors line, which stay.
func TestTargetHookKeepsComments(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.git("commit", "--quiet", "--allow-empty", "--verbose", "--cleanup=scissors")
	offered, err := os.ReadFile(filepath.Join(c.dir, ".git", "offered"))
	if err != nil {
		t.Fatal(err)
	}
	trailer, scissors := strings.Index(string(offered), "Gitops-Target: home/main\n"), strings.Index(string(offered), ">8")
	if trailer < 0 || scissors < trailer || !strings.Contains(string(offered), "# On branch main") {
		t.Errorf("editor: got %q, want the trailer, then git's comments", offered)
	}
}
