//go:build integration

package stack

import (
	"bytes"
	"cmp"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gitops-agent/gitsource"
)

// A repository is a person's clone: a work tree in which git signs with gitsign.
type repository struct {
	t   *testing.T
	dir string
	env map[string]string // for git, and so for gitsign
}

// newRepository makes an empty repository with the git settings from the docs and hints.
func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{t: t, dir: t.TempDir(), env: map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C",
	}}
	r.git("init", "--quiet", "--initial-branch=main")
	for key, value := range map[string]string{
		"user.name": "Alice", "user.email": "alice@lab.test", "commit.gpgsign": "true", "tag.gpgsign": "true",
		"gpg.format": "x509", "gpg.x509.program": gitsign.file(),
	} {
		r.git("config", key, value)
	}
	return r
}

// run runs a program in the work tree and returns its output on stdout and stderr.
func (r *repository) run(program string, args ...string) (string, error) {
	cmd := exec.CommandContext(r.t.Context(), program, args...)
	cmd.Dir = r.dir
	for _, name := range slices.Sorted(maps.Keys(r.env)) {
		cmd.Env = append(cmd.Env, name+"="+r.env[name])
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// git runs git and fails the test if git fails.
func (r *repository) git(args ...string) string {
	r.t.Helper()
	out, err := r.run("git", args...)
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

// commit changes a file and makes a signed commit. Each argument is a paragraph of the message.
func (r *repository) commit(paragraphs ...string) gitsource.ID {
	r.t.Helper()
	r.change("web.yaml", strings.Join(paragraphs, "\n"))
	args := []string{"commit", "--quiet"}
	for _, p := range paragraphs {
		args = append(args, "-m", p)
	}
	r.git(args...)
	return r.id("HEAD")
}

func (r *repository) change(name, content string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.git("add", name)
}

func (r *repository) id(revision string) gitsource.ID {
	r.t.Helper()
	id, err := gitsource.ParseID(r.git("rev-parse", revision))
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// raw returns the bytes of an object.
func (r *repository) raw(kind string, id gitsource.ID) []byte {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", "cat-file", kind, string(id))
	cmd.Dir = r.dir
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git cat-file: %v", err)
	}
	return out
}

// place stores the bytes as an object without checks.
func (r *repository) place(kind string, raw []byte) gitsource.ID {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", "hash-object", "-w", "-t", kind, "--stdin")
	cmd.Dir, cmd.Stdin = r.dir, bytes.NewReader(raw)
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git hash-object: %v", err)
	}
	id, err := gitsource.ParseID(strings.TrimSpace(string(out)))
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// open opens the repository as the agent does.
func (r *repository) open() *gitsource.Repository {
	r.t.Helper()
	repo, err := gitsource.OpenRepository(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	return repo
}

// A login is a person or a workflow that signs, with the settings of gitsign.
type login struct {
	token       string
	mode        string // of Rekor: offline unless set
	noTimestamp bool
	rekorV1     bool // else Rekor v2
}

// as makes the holder of a token sign all following commits with the given Sigstore. It returns r.
func (r *repository) as(s *sigstore, who login) *repository {
	maps.Copy(r.env, map[string]string{
		"GITSIGN_FULCIO_URL": fulcioURL, "GITSIGN_FULCIO_ROOT": s.path("fulcio.pem"), "GITSIGN_REKOR_URL": rekorURL,
		"GITSIGN_REKOR_MODE": cmp.Or(who.mode, "offline"), "GITSIGN_REKOR_VERSION": "2", "GITSIGN_OIDC_ISSUER": s.people.url,
		"GITSIGN_OIDC_CLIENT_ID": "sigstore", "SIGSTORE_ID_TOKEN": who.token, "SIGSTORE_REKOR_PUBLIC_KEY": s.path("rekor.pub"),
		"SIGSTORE_CT_LOG_PUBLIC_KEY_FILE": s.path("ctlog.pub"), "GITSIGN_TIMESTAMP_SERVER_URL": timestampURL + "/api/v1/timestamp",
	})
	if who.rekorV1 {
		r.env["GITSIGN_REKOR_URL"], r.env["GITSIGN_REKOR_VERSION"], r.env["SIGSTORE_REKOR_PUBLIC_KEY"] = rekorV1URL, "1", s.path("rekor1.pub")
	}
	if who.noTimestamp {
		delete(r.env, "GITSIGN_TIMESTAMP_SERVER_URL")
	}
	return r
}

// verify runs the agent's verify command in the work tree, and expects an exit status and texts in its output.
func (r *repository) verify(status int, args []string, wants ...string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), agent.file(), append([]string{"verify"}, args...)...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		r.t.Fatalf("run gitops-agent: %v", err)
	}
	if got := cmd.ProcessState.ExitCode(); got != status {
		r.t.Errorf("gitops-agent verify %q: got exit status %d, want %d\n%s", args, got, status, out)
	}
	for _, want := range wants {
		if !strings.Contains(string(out), want) {
			r.t.Errorf("gitops-agent verify %q: got\n%s\nwant %q", args, out, want)
		}
	}
}

// scratch returns the path of a temporary file with the given content.
func scratch(t *testing.T, name string, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
