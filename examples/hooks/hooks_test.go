package hooks_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/gittest"
	"gitops-agent/internal/sigtest"
)

var (
	alice   = sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}
	mallory = sigtest.Identity{Subject: "mallory@evil.test", Issuer: "https://issuer.test"}
)

const cluster = "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: lab}\n"

// A desk is where somebody works: a repository of signed and unsigned commits, the program, and the files of trust.
type desk struct {
	*gittest.Repo
	*testing.T
	sig         *sigtest.Sigstore
	agent, root string
}

func newDesk(t *testing.T) desk {
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
	dir := t.TempDir()
	d := desk{gittest.New(t), t, sig, filepath.Join(dir, "gitops-agent"), filepath.Join(dir, "trusted_root.json")}
	if err := os.WriteFile(d.root, json, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", d.agent, "gitops-agent/cmd/gitops-agent")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return d
}

// commit adds a commit by somebody, or by nobody, with files by path, and moves main to it.
func (d desk) commit(who sigtest.Identity, files map[string]string) string {
	d.Helper()
	d.Git(nil, "read-tree", "--empty")
	for path, content := range files {
		blob := strings.TrimSpace(d.Git([]byte(content), "hash-object", "-w", "--stdin"))
		d.Git(nil, "update-index", "--add", "--cacheinfo", "100644,"+blob+","+path)
	}
	spec := sigtest.CommitSpec{Tree: strings.TrimSpace(d.Git(nil, "write-tree")), Message: "change guests"}
	if d.Tip != "" {
		spec.Parents = []string{d.Tip}
	}
	if who.Subject == "" {
		payload := spec.Payload(time.Now())
		id := strings.TrimSpace(d.Git(payload, "hash-object", "-t", "commit", "-w", "--stdin"))
		return d.Place(payload, id)
	}
	raw, id, err := d.sig.Commit(spec, who, sigtest.SignOptions{})
	if err != nil {
		d.Fatal(err)
	}
	return d.Place(raw, id)
}

// run runs a program in the repository and returns what it said.
func (d desk) run(env []string, name string, args ...string) (string, error) {
	d.Helper()
	cmd := exec.CommandContext(d.Context(), name, args...)
	cmd.Dir = d.Dir
	cmd.Env = append(append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1"), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// server makes a repository with the hook, and returns its folder.
func (d desk) server() string {
	d.Helper()
	hook, err := os.ReadFile("pre-receive")
	if err != nil {
		d.Fatal(err)
	}
	dir := filepath.Join(d.TempDir(), "server.git")
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=main", dir},
		{"-C", dir, "config", "gitops.trustedRoot", d.root},
		{"-C", dir, "config", "--add", "gitops.signer", alice.Issuer + "=" + alice.Subject},
		{"-C", dir, "config", "gitops.agent", d.agent},
	} {
		if out, err := d.run(nil, "git", args...); err != nil {
			d.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "hooks", "pre-receive"), hook, 0o755); err != nil {
		d.Fatal(err)
	}
	return dir
}

func TestPreReceive(t *testing.T) {
	d := newDesk(t)
	server := d.server()
	push := func(want, refspec string) {
		t.Helper()
		out, err := d.run(nil, "git", "push", "--force", server, refspec)
		switch {
		case want == "" && err != nil:
			t.Errorf("push %s: got %v, want it accepted:\n%s", refspec, err, out)
		case want != "" && (err == nil || !strings.Contains(out, want)):
			t.Errorf("push %s: got %v and no %q, want it refused:\n%s", refspec, err, want, out)
		}
	}
	first := d.commit(alice, map[string]string{"cluster.yaml": cluster})
	push("", "main")
	for i := range 3 {
		d.commit(alice, map[string]string{"cluster.yaml": cluster + fmt.Sprintf("# %d\n", i)})
	}
	push("", "main")
	good := d.Tip

	d.commit(mallory, map[string]string{"cluster.yaml": cluster})
	d.commit(alice, map[string]string{"cluster.yaml": cluster + "# on top\n"})
	push("wrong-identity", "main")
	push("", "main:refs/heads/draft") // what no agent follows is nobody's business
	d.Tip = good
	d.commit(sigtest.Identity{}, map[string]string{"cluster.yaml": cluster})
	push("unsigned", "main")
	push("first-parent path", first+":refs/heads/main")
	push("cannot be deleted", ":refs/heads/main")
	if got, err := d.run(nil, "git", "-C", server, "rev-parse", "main"); err != nil || strings.TrimSpace(got) != good {
		t.Errorf("main of the server: got %s, want %s", got, good)
	}
}

func TestCheckOfProposals(t *testing.T) {
	d := newDesk(t)
	root, err := os.ReadFile(d.root)
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
	base := d.commit(alice, files(cluster, byAlice))
	tests := map[string]struct {
		who  sigtest.Identity
		tree map[string]string
		want string
	}{
		"good":              {alice, files(cluster+"# more\n", byAlice), ""},
		"unsigned":          {sigtest.Identity{}, files(cluster+"# more\n", byAlice), "unsigned"},
		"stranger":          {mallory, files(cluster+"# more\n", byAlice), "wrong-identity"},
		"brings_its_judges": {mallory, files(cluster, byAlice, byMallory), "wrong-identity"},
		"bad_manifest":      {alice, files(cluster+"spec: {colour: blue}\n", byAlice), "colour"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			here := d
			repo := *d.Repo
			here.Repo, here.Tip = &repo, base
			head := here.commit(tt.who, tt.tree)
			out, err := d.run([]string{"GITOPS_AGENT=" + d.agent, "GITOPS_MANIFESTS=guests"}, script, base, head)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v, want the proposal to pass:\n%s", err, out)
			case tt.want != "" && (err == nil || !strings.Contains(out, tt.want)):
				t.Errorf("got %v, want a refusal that says %q:\n%s", err, tt.want, out)
			}
		})
	}
}
