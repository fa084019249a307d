package gitsource_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/gitsource"
)

// A git is a bare repository of the git program: the remote in these tests.
type git struct {
	t   testing.TB
	dir string
}

func newGit(t testing.TB, initArgs ...string) git {
	t.Helper()
	g := git{t, filepath.Join(t.TempDir(), "remote.git")}
	g.exec("", append([]string{"init", "-q", "--bare", "-b", "main", g.dir}, initArgs...)...)
	return g
}

// run runs git in the repository and returns what it printed.
func (g git) run(args ...string) string {
	g.t.Helper()
	return g.exec("", append([]string{"--git-dir", g.dir}, args...)...)
}

// exec runs git with stdin and without any git configuration of the machine.
func (g git) exec(stdin string, args ...string) string {
	g.t.Helper()
	cmd := exec.CommandContext(g.t.Context(), "git", args...)
	cmd.Env = gitEnv()
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		g.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n")
}

func gitEnv() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=A U Thor", "GIT_AUTHOR_EMAIL=author@example.org", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=C O Mitter", "GIT_COMMITTER_EMAIL=committer@example.org",
		"GIT_COMMITTER_DATE=1700000000 +0000",
	}
}

// object stores an object with any content, also malformed.
func (g git) object(kind string, raw []byte) gitsource.ID {
	g.t.Helper()
	return gitsource.ID(g.exec(string(raw), "--git-dir", g.dir, "hash-object", "-w", "-t", kind, "--literally", "--stdin"))
}

func (g git) blob(content string) gitsource.ID { return g.object("blob", []byte(content)) }

// tree stores a tree of "mode name id" lines.
func (g git) tree(entries ...[3]string) gitsource.ID {
	g.t.Helper()
	var raw []byte
	for _, e := range entries {
		raw = fmt.Appendf(raw, "%s %s\x00%s", e[0], e[1], unhex(g.t, e[2]))
	}
	return g.object("tree", raw)
}

func unhex(t testing.TB, id string) []byte {
	t.Helper()
	raw := make([]byte, len(id)/2)
	if _, err := fmt.Sscanf(id, "%x", &raw); err != nil {
		t.Fatalf("id %q: %v", id, err)
	}
	return raw
}

// files stores a tree of regular files, given as path and content.
func (g git) files(content map[string]string) gitsource.ID {
	g.t.Helper()
	dirs, files := map[string]map[string]string{}, [][3]string{}
	for path, text := range content {
		name, rest, nested := strings.Cut(path, "/")
		if !nested {
			files = append(files, [3]string{"100644 blob", string(g.blob(text)), name})
			continue
		}
		if dirs[name] == nil {
			dirs[name] = map[string]string{}
		}
		dirs[name][rest] = text
	}
	for name, inner := range dirs {
		files = append(files, [3]string{"040000 tree", string(g.files(inner)), name})
	}
	var list strings.Builder
	for _, f := range files {
		fmt.Fprintf(&list, "%s %s\t%s\n", f[0], f[1], f[2])
	}
	return gitsource.ID(g.exec(list.String(), "--git-dir", g.dir, "mktree"))
}

// commit stores a commit of a tree.
func (g git) commit(tree gitsource.ID, message string, parents ...gitsource.ID) gitsource.ID {
	g.t.Helper()
	args := []string{"commit-tree", string(tree), "-m", message}
	for _, p := range parents {
		args = append(args, "-p", string(p))
	}
	return gitsource.ID(g.run(args...))
}

// push moves a branch to any commit.
func (g git) push(branch string, id gitsource.ID) {
	g.run("update-ref", "refs/heads/"+branch, string(id))
}

// history commits n revisions of one file on branch and returns their ids, oldest first.
func (g git) history(branch string, n int) []gitsource.ID {
	g.t.Helper()
	var stream strings.Builder
	fmt.Fprintf(&stream, "reset refs/heads/%s\n", branch)
	for i := range n {
		text := fmt.Sprintf("memory: %d\n", i)
		fmt.Fprintf(&stream, "commit refs/heads/%s\ncommitter A <a@b> 1700000000 +0000\ndata 1\nm\n", branch)
		fmt.Fprintf(&stream, "M 100644 inline guests/web.yaml\ndata %d\n%s\n", len(text), text)
	}
	g.exec(stream.String(), "--git-dir", g.dir, "-c", "fastimport.unpackLimit=1000", "fast-import", "--quiet")
	var ids []gitsource.ID
	for id := range strings.FieldsSeq(g.run("rev-list", "--reverse", branch)) {
		ids = append(ids, gitsource.ID(id))
	}
	return ids
}

func open(t testing.TB, dir string) *gitsource.Repository {
	t.Helper()
	repo, err := gitsource.OpenRepository(dir)
	if err != nil {
		t.Fatalf("OpenRepository: %v", err)
	}
	return repo
}

// treeOf reads the tree id from a commit.
func treeOf(ctx context.Context, t testing.TB, repo *gitsource.Repository, id gitsource.ID) gitsource.ID {
	t.Helper()
	c, err := repo.Commit(ctx, id)
	if err != nil {
		t.Fatalf("Commit(%s): %v", id, err)
	}
	tree, ok := bytes.CutPrefix(c.Raw, []byte("tree "))
	if !ok || len(tree) < 40 {
		t.Fatalf("commit %s begins %.50q", id, c.Raw)
	}
	return gitsource.ID(tree[:40])
}
