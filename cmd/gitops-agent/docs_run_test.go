package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
)

// ranElsewhere are commands of pages that a step of .ci/run runs, by a part of its line there.
var ranElsewhere = map[string]string{"go run ./cmd/demo": "go run ./cmd/demo", "go test ./...": "'/^go test /{p;q}' README.md"}

// docSetups prepare the host and the repository of a page, in repo/. Other pages begin with acceptedSetup.
var docSetups = map[string]string{
	"docs/quickstart.md":     "git config gitsign.rekorMode offline\n",
	"docs/adopt.md":          acceptedSetup + "mkdir guests\n",
	"docs/from-terraform.md": acceptedSetup + "mkdir guests\n",
	"docs/manifests.md":      acceptedSetup + "mkdir guests && git mv *.yaml guests/\n",
	"docs/policies.md":       "ln -s $CHECKOUT/examples .\n",
	"docs/operations.md":     acceptedSetup + "cp $CHECKOUT/metrics/rules/*.yaml $CHECKOUT/metrics/grafana/*.json .\n",
	"docs/recipes.md": acceptedSetup + `ln -s $CHECKOUT/examples . && cp $HOST/sigstore/trusted_root.json .
git init --quiet --bare $HOST/mirror.git && git remote add mirror $HOST/mirror.git
`,
	"docs/plan.md": acceptedSetup + `git commit --quiet --allow-empty -m 'another revision' --trailer 'Gitops-Target: home/main' && git push --quiet
gitops-agent status --wait converged --revision "$(git rev-parse HEAD)" --timeout 1m > /dev/null
`,
	"docs/signing.md": `
ln -s $CHECKOUT/examples .
git -c commit.gpgsign=false commit --quiet --allow-empty -m 'where the history begins' && git push --quiet -u origin main
git switch --quiet -c feature && echo 1 > feature && git add feature && git -c commit.gpgsign=false commit --quiet -m feature && git switch --quiet main
echo 2 > more && git add more
`,
}

// acceptedSetup has two guests under git, and the agent as a running service.
const acceptedSetup = `
git config gitsign.rekorMode offline
cat > cluster.yaml <<'END'
apiVersion: proxmox.gitops/v1alpha1
kind: Cluster
metadata: {name: home}
spec: {vmids: {from: 200, to: 299}}
END
cat > web.yaml <<'END'
apiVersion: proxmox.gitops/v1alpha1
kind: VirtualMachine
metadata: {name: web-1}
spec:
  vmid: 201
  source: {clone: {name: tmpl-debian-12}}
  memory: {size: 2Gi}
END
git add . && git commit --quiet -m 'the first guest' --trailer 'Gitops-Target: home/main' && git push --quiet -u origin main
gitops-agent run --once --log-level error > /dev/null
systemctl start gitops-agent
gitops-agent status --wait converged --timeout 1m > /dev/null
`

// signAsGitsign is gitsign of alice: it puts the proof of the log into the signature only in its offline mode.
func signAsGitsign() {
	alice := sigtest.GitProgram{Identity: sigtest.Identity{Subject: "alice@example.org", Issuer: "https://github.com/login/oauth"}}
	if mode, err := exec.Command("git", "config", "gitsign.rekorMode").Output(); err != nil || strings.TrimSpace(string(mode)) != "offline" {
		alice.Options.Log = sigtest.Absent()
	}
	signer(alice)()
}

// newDocHost makes the host of a page: a stage with the config that the pages describe, and the programs of testdata/docs/bin before all others.
func newDocHost(t *testing.T) *stage {
	t.Helper()
	s := &stage{dir: t.TempDir(), sim: pvesim.New(pvesim.Options{TaskTime: 20 * time.Millisecond})}
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	t.Cleanup(s.close)
	bin, err := filepath.Abs(filepath.Join("testdata", "docs", "bin"))
	checkout, _ := filepath.Abs(filepath.Join("..", ".."))
	program, found := exec.LookPath("gitops-agent")
	s.env = append(os.Environ(), "HOST="+s.dir, "PROGRAM="+program, "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+s.dir, "GIT_CONFIG_GLOBAL="+s.path("gitconfig"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "CHECKOUT="+checkout, "NO_COLOR=1", "GOGC="+collectorSetting, sigstoreVariable+"="+s.path("sigstore"))
	cluster, served := s.openCluster(ctx, s.sim, "token")
	for _, err := range []error{err, found, served, s.openSigstore(), s.openRepository(), s.writeConfig("home", cluster), os.MkdirAll(s.path("etc"), 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s.rewrite(t, "gitconfig", "sign-as-alice", "gitsign")
	s.rewrite(t, "gitconfig", "[advice]", "[push]\n\tautoSetupRemote = true\n[advice]")
	s.rewrite(t, "config.yaml", "binding: none", "binding: trailer")
	s.rewrite(t, "config.yaml", `issuer: "https://accounts.test", subject: alice@example.org, may: [change]`, "issuer: https://github.com/login/oauth, subject: alice@example.org, may: [change, approve]")
	return s
}

func (s *stage) rewrite(t *testing.T, name, from, to string) {
	t.Helper()
	text, err := os.ReadFile(s.path(name))
	if err != nil || !strings.Contains(string(text), from) {
		t.Fatalf("rewrite %s: got %v and no %q", name, err, from)
	}
	if err := s.write(name, strings.ReplaceAll(string(text), from, to)); err != nil {
		t.Fatal(err)
	}
}

// TestDocCommandsRun runs every block of commands that no mark excludes: those of a page in order, on one simulated host, beside a simulated cluster. Blocks
// of YAML that name a file are written where the reader would write them.
func TestDocCommandsRun(t *testing.T) {
	t.Parallel()
	pages := manuals(t)
	ran, marked := 0, 0
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		var script strings.Builder
		commands := 0
		for _, b := range docBlocks(page, pages[page]) {
			switch {
			case b.isCommands() && b.needs != "":
				marked++
			case b.isCommands() && !isRunElsewhere(t, b):
				commands++
				fmt.Fprintf(&script, "block=%d\n%s\n", b.line, b.script())
			case b.lang == "yaml" && b.isManifest() && b.named() != "":
				fmt.Fprintf(&script, "mkdir -p %[1]s\ncat > %[2]s <<'END OF BLOCK'\n%[3]sEND OF BLOCK\n", filepath.Dir(b.named()), b.named(), b.text)
			}
		}
		if ran += commands; commands > 0 {
			t.Run(page, func(t *testing.T) {
				t.Parallel()
				runDocPage(t, page, script.String())
			})
		}
	}
	t.Logf("%d blocks of commands run, %d are marked", ran, marked)
}

func runDocPage(t *testing.T, page, script string) {
	t.Helper()
	s := newDocHost(t)
	t.Cleanup(s.stopService)
	if _, err := s.sim.AddVM(pvesim.Guest{VMID: 1002, Config: "name: db-2\nmemory: 1024\n"}); err != nil { // made by hand
		t.Fatal(err)
	}
	setup, found := docSetups[page]
	if !found {
		setup = acceptedSetup
	}
	script = strings.NewReplacer("/etc/gitops-agent", s.path("etc"), "/var/lib/gitops-agent", s.path("state")).Replace(script)
	cmd := exec.CommandContext(t.Context(), "bash", "-E", "-c", "set -eo pipefail\nblock=setup\ntrap 'status=$?; echo \"line $block: status $status of: $BASH_COMMAND\" >&2' ERR\n"+setup+"\n"+script)
	cmd.Dir, cmd.Env, cmd.Stdin = s.path("repo"), s.env, strings.NewReader("what the reader types\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		log, _ := os.ReadFile(s.path("log"))
		t.Errorf("%s: got %v, want commands that work as they are written:\n%s\nlog of the service: %s\n\n%s", page, err, out, log[:min(len(log), 4000)], howToMark)
	}
}

// stopService kills the agent that a page started and waits for its end.
func (s *stage) stopService() {
	text, err := os.ReadFile(s.path("pid"))
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return
	}
	for !errors.Is(syscall.Kill(pid, syscall.SIGKILL), syscall.ESRCH) {
		time.Sleep(10 * time.Millisecond)
	}
}

// isRunElsewhere reports whether all commands of a block are run by .ci/run.
func isRunElsewhere(t *testing.T, b docBlock) bool {
	t.Helper()
	ci, err := os.ReadFile(filepath.Join("..", "..", ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.script()) {
		if part := ranElsewhere[strings.TrimSpace(line)]; part == "" || !strings.Contains(string(ci), part) {
			return false
		}
	}
	return true
}
