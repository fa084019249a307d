package hooks_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gitops-agent/internal/gittest"
	_ "gitops-agent/internal/memtemp"
	"gitops-agent/internal/sigtest"
)

var (
	alice   = sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}
	mallory = sigtest.Identity{Subject: "mallory@evil.test", Issuer: "https://issuer.test"}
)

const cluster = "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: lab}\n"

// workspace is what a contributor works with: a repository of signed and unsigned commits, the program gitops-agent, and the trusted root.
type workspace struct {
	*gittest.Repo
	*testing.T
	sig         *sigtest.Sigstore
	agent, root string
}

// builds is the folder of the program, which the first test builds.
var builds struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	m.Run()
	_ = os.RemoveAll(builds.dir)
}

// program returns the path of the program gitops-agent.
func program(t *testing.T) string {
	t.Helper()
	builds.Do(func() {
		if builds.dir, builds.err = os.MkdirTemp("", "hooks"); builds.err != nil { //nolint:usetesting // it outlives the first test
			return
		}
		build := exec.CommandContext(t.Context(), "go", "run", "-exec", "cp", "gitops-agent/cmd/gitops-agent", filepath.Join(builds.dir, "gitops-agent")) // go keeps what it linked to run, unlike what it built
		if out, err := build.CombinedOutput(); err != nil {
			builds.err = fmt.Errorf("build: %w\n%s", err, out)
		}
	})
	if builds.err != nil {
		t.Fatal(builds.err)
	}
	return filepath.Join(builds.dir, "gitops-agent")
}

func newWorkspace(t *testing.T) workspace {
	t.Helper()
	for _, program := range []string{"bash", "git", "tar"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("the examples need %s: %v", program, err)
		}
	}
	sig, err := sigtest.New(sigtest.Options{Seed: "examples"})
	if err != nil {
		t.Fatal(err)
	}
	json, err := sig.TrustedRoot()
	if err != nil {
		t.Fatal(err)
	}
	w := workspace{gittest.New(t), t, sig, program(t), filepath.Join(t.TempDir(), "trusted_root.json")}
	if err := os.WriteFile(w.root, json, 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// commit adds a commit with files by path and moves main to it. The commit is not signed if who has no subject.
func (w workspace) commit(who sigtest.Identity, files map[string]string) string {
	w.Helper()
	w.Files = files
	spec := sigtest.CommitSpec{Tree: w.Tree(), Message: "change guests"}
	if w.Tip != "" {
		spec.Parents = []string{w.Tip}
	}
	if who.Subject == "" {
		payload := spec.Payload(time.Now())
		return w.Place(payload, sigtest.ObjectID("commit", payload))
	}
	raw, id, err := w.sig.Commit(spec, who, sigtest.SignOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return w.Place(raw, id)
}

// run runs a program in the repository and returns its output.
func (w workspace) run(env []string, name string, args ...string) (string, error) {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), name, args...)
	cmd.Dir = w.Dir
	cmd.Env = append(append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1"), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// server creates a repository with the hook and returns its folder.
func (w workspace) server() string {
	w.Helper()
	hook, err := os.ReadFile("pre-receive")
	if err != nil {
		w.Fatal(err)
	}
	dir := filepath.Join(w.TempDir(), "server.git")
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=main", dir},
		{"-C", dir, "config", "gitops.trustedRoot", w.root},
		{"-C", dir, "config", "--add", "gitops.signer", alice.Issuer + "=" + alice.Subject},
		{"-C", dir, "config", "gitops.agent", w.agent},
	} {
		if out, err := w.run(nil, "git", args...); err != nil {
			w.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "hooks", "pre-receive"), hook, 0o755); err != nil {
		w.Fatal(err)
	}
	return dir
}

func TestPreReceive(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	server := w.server()
	push := func(want, refspec string) {
		t.Helper()
		out, err := w.run(nil, "git", "push", "--force", server, refspec)
		switch {
		case want == "" && err != nil:
			t.Errorf("push %s: got %v, want it accepted:\n%s", refspec, err, out)
		case want != "" && (err == nil || !strings.Contains(out, want)):
			t.Errorf("push %s: got %v and no %q, want it refused:\n%s", refspec, err, want, out)
		}
	}
	first := w.commit(alice, map[string]string{"cluster.yaml": cluster})
	push("", "main")
	for i := range 3 {
		w.commit(alice, map[string]string{"cluster.yaml": cluster + fmt.Sprintf("# %d\n", i)})
	}
	push("", "main")
	good := w.Tip

	w.commit(mallory, map[string]string{"cluster.yaml": cluster})
	w.commit(alice, map[string]string{"cluster.yaml": cluster + "# on top\n"})
	push("wrong-identity", "main")
	push("", "main:refs/heads/draft") // the hook checks only the branch of the agent
	w.Tip = good
	w.commit(sigtest.Identity{}, map[string]string{"cluster.yaml": cluster})
	push("unsigned", "main")
	push("first-parent path", first+":refs/heads/main")
	push("cannot be deleted", ":refs/heads/main")
	if got, err := w.run(nil, "git", "-C", server, "rev-parse", "main"); err != nil || strings.TrimSpace(got) != good {
		t.Errorf("main of the server: got %s, want %s", got, good)
	}
}

func TestCheckOfProposals(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	root, err := os.ReadFile(w.root)
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(filepath.Join("..", "ci", "check.sh"))
	if err != nil {
		t.Fatal(err)
	}
	files := func(manifest string, signers ...string) map[string]string {
		return map[string]string{
			"guests/cluster.yaml": manifest, ".gitops/trusted_root.json": string(root),
			".gitops/signers": "# who may sign\n" + strings.Join(signers, "\n") + "\n",
		}
	}
	byAlice, byMallory := alice.Issuer+"="+alice.Subject, mallory.Issuer+"="+mallory.Subject
	base := w.commit(alice, files(cluster, byAlice))
	tests := map[string]struct {
		who  sigtest.Identity
		tree map[string]string
		want string
	}{
		"good":                  {alice, files(cluster+"# more\n", byAlice), ""},
		"unsigned":              {sigtest.Identity{}, files(cluster+"# more\n", byAlice), "unsigned"},
		"stranger":              {mallory, files(cluster+"# more\n", byAlice), "wrong-identity"},
		"changes_its_own_trust": {mallory, files(cluster, byAlice, byMallory), "wrong-identity"},
		"bad_manifest":          {alice, files(cluster+"spec: {colour: blue}\n", byAlice), "colour"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			here := w
			repo := *w.Repo
			here.Repo, here.Tip = &repo, base
			head := here.commit(tt.who, tt.tree)
			out, err := w.run([]string{"GITOPS_AGENT=" + w.agent, "GITOPS_MANIFESTS=guests"}, script, base, head)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v, want the proposal to pass:\n%s", err, out)
			case tt.want != "" && (err == nil || !strings.Contains(out, tt.want)):
				t.Errorf("got %v, want it refused with %q:\n%s", err, tt.want, out)
			}
		})
	}
}
