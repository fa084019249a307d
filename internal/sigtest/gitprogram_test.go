package sigtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"gitops-agent/internal/sigtest"
)

// programDir is the environment variable that makes the test binary git's signing program, with its state in the named directory.
const programDir = "SIGTEST_PROGRAM_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(programDir); dir != "" {
		if err := signForGit(dir); err != nil {
			fmt.Fprintln(os.Stderr, err) // git does not receive the status line and fails
		}
		return
	}
	m.Run()
}

func signForGit(dir string) error {
	s, err := sigtest.Load(dir)
	if err != nil {
		return err
	}
	program := sigtest.GitProgram{Sigstore: s, Identity: alice, Options: sigtest.SignOptions{At: noon, TSA: sigtest.By(s)}}
	if err := program.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		return err
	}
	return s.Save(dir)
}

// repository is a git repository whose commits are signed by this test binary.
type repository struct {
	t          *testing.T
	dir, state string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository{t, t.TempDir(), t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatalf("find test binary: %v", err)
	}
	r.git("", "init", "-q", "-b", "main")
	for key, value := range map[string]string{
		"gpg.format": "x509", "gpg.x509.program": self, "user.name": "Alice", "user.email": "alice@example.org",
	} {
		r.git("", "config", key, value)
	}
	return r
}

// git runs git in the repository and returns what it printed.
func (r repository) git(stdin string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", programDir+"="+r.state)
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, problems.String())
	}
	return string(out)
}

// splitCommit separates the signature from a raw commit.
func splitCommit(t *testing.T, raw string) (payload, armored []byte) {
	t.Helper()
	head, rest, found := strings.Cut(raw, "gpgsig ")
	signature, tail, ended := strings.Cut(rest, "-----END SIGNED MESSAGE-----\n")
	if !found || !ended {
		t.Fatalf("got commit %q, want a signature", raw)
	}
	signature += "-----END SIGNED MESSAGE-----\n"
	return []byte(head + tail), []byte(strings.ReplaceAll(signature, "\n ", "\n"))
}

func TestGitSignsWithProgram(t *testing.T) {
	r := newRepository(t)
	s := newSigstore(t, "home")
	if err := s.Save(r.state); err != nil {
		t.Fatalf("save: %v", err)
	}
	r.git("", "commit", "-q", "-S", "--allow-empty", "-m", "first")
	r.git("", "commit", "-q", "-S", "--allow-empty", "-m", "second")
	r.git("", "tag", "-s", "-m", "release", "v1")

	for _, revision := range []string{"HEAD~1", "HEAD"} {
		payload, armored := splitCommit(t, r.git("", "cat-file", "commit", revision))
		if _, err := verifyArmored(t, s, payload, armored, sigtest.RekorV1); err != nil {
			t.Errorf("%s: got %v, want a verified commit", revision, err)
		}
		if got, want := parseArmor(t, armored).entry(t, sigtest.RekorV1)[0].InclusionProof.TreeSize, r.sizeAt(revision); got != want {
			t.Errorf("%s: got tree size %d, want %d: the log did not continue", revision, got, want)
		}
	}
	tag := r.git("", "cat-file", "tag", "v1")
	at := strings.Index(tag, "-----BEGIN")
	if at < 0 {
		t.Fatalf("got tag %q, want a signature", tag)
	}
	if _, err := verifyArmored(t, s, []byte(tag[:at]), []byte(tag[at:]), sigtest.RekorV1); err != nil {
		t.Errorf("tag: got %v, want a verified tag", err)
	}
}

// sizeAt returns the size of the log when a revision was signed: the earlier entries of a new log, and one for each commit.
func (r repository) sizeAt(revision string) int64 {
	return 5 + int64(strings.Count(r.git("", "rev-list", revision), "\n"))
}

func TestGitProgramArguments(t *testing.T) {
	program := sigtest.GitProgram{Sigstore: newSigstore(t, "home"), Identity: alice}
	tests := map[string]struct {
		args string
		want string // in the error; empty = signed
	}{
		"git":          {args: "--status-fd=2 -bsau alice"},
		"long":         {args: "--status-fd 2 --detach-sign --armor --sign --local-user alice"},
		"verify":       {args: "--status-fd=1 --verify file -", want: "only signs"},
		"not_armored":  {args: "--status-fd=2 -bsu alice", want: "detached armored"},
		"unknown_flag": {args: "--clear-sign -bsau alice", want: "--clear-sign"},
		"no_arguments": {want: "detached armored"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, status bytes.Buffer
			err := program.Run(t.Context(), strings.Fields(test.args), bytes.NewReader(payload), &stdout, &status)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) || stdout.Len() > 0 {
					t.Errorf("got %v and %d bytes, want an error with %q and no signature", err, stdout.Len(), test.want)
				}
				return
			}
			if err != nil {
				t.Fatalf("got %v, want a signature", err)
			}
			parseArmor(t, stdout.Bytes())
			if !strings.Contains(status.String(), "\n[GNUPG:] SIG_CREATED ") {
				t.Errorf("got status %q, want SIG_CREATED", status.String())
			}
		})
	}
}

func TestGitProgramStops(t *testing.T) {
	program := sigtest.GitProgram{Sigstore: newSigstore(t, "home"), Identity: alice}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := program.Run(ctx, []string{"-bsau", "alice"}, bytes.NewReader(payload), io.Discard, io.Discard)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
