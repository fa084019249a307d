//go:build integration

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gitops-agent/internal/gittest"
	"gitops-agent/internal/loopback"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/report"
)

// patience is the longest time to wait for a process.
const patience = 90 * time.Second

// site is a simulated cluster in a process of its own, a repository, and the real binary to be killed.
type site struct {
	testing.TB
	bin     string // folder with the binaries
	dir     string
	sig     *sigtest.Sigstore
	repo    *gittest.Repo
	control string // URL of the simulator's control endpoint
	address string // of the agent's status page
	agent   *exec.Cmd
	took    time.Duration // from the last push of pushed to convergence
}

var killer = sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}

// buildBinaries builds the two programs as users get them.
func buildBinaries(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"gitops-agent", "pvesim"} {
		cmd := exec.CommandContext(t.Context(), "go", "run", "-exec", "cp", "gitops-agent/cmd/"+name, filepath.Join(dir, name)) // go keeps what it linked to run, unlike what it built
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build: %v\n%s", err, out)
		}
	}
	return dir
}

func newSite(t testing.TB, bin string, simulator ...string) *site {
	t.Helper()
	s := &site{TB: t, bin: bin, dir: t.TempDir(), repo: gittest.New(t)}
	sig, err := sigtest.New(sigtest.Options{Name: "kill"})
	s.ok(err)
	s.sig = sig
	root, err := sig.TrustedRoot()
	s.ok(err)
	s.ok(os.WriteFile(s.path("trusted_root.json"), root, 0o600))
	s.startSimulator(simulator)
	s.address = freeAddress(t)
	s.ok(os.WriteFile(s.path("webhook"), []byte("a-secret-of-the-tests\n"), 0o600))
	s.ok(os.WriteFile(s.path("config.yaml"), fmt.Appendf(nil, `
cluster: {name: home}
source:
  remotes: [{url: "file://%s"}]
  poll: 300ms
  webhook_token_file: %s
trust:
  trusted_root_file: %s
  signers: [{name: killer, issuer: %q, subject: %q, may: [change]}]
  binding: none
  trust_on_first_use: true
proxmox:
  endpoints: [%q]
  token_file: %s
  ca_file: %s
  tick: 300ms
  resync: 600ms
state_dir: %s
listen: %s
`, s.repo.Dir, s.path("webhook"), s.path("trusted_root.json"), killer.Issuer, killer.Subject, s.read("addr"), s.path("token"), s.path("cert"), s.path("state"), s.address), 0o600))
	return s
}

func (s *site) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

func (s *site) read(name string) string {
	s.Helper()
	data, err := os.ReadFile(s.path(name))
	s.ok(err)
	return strings.TrimSpace(string(data))
}

func freeAddress(t testing.TB) string {
	t.Helper()
	address, err := loopback.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// startSimulator starts the simulator with additional flags. A later flag takes precedence.
func (s *site) startSimulator(more []string) {
	s.Helper()
	args := append([]string{
		"--listen", "127.0.0.1:0", "--control", "127.0.0.1:0", "--token", "root@pam!full", "--task-time", "100ms",
		"--token-out", s.path("token"), "--cert-out", s.path("cert"), "--control-out", s.path("control"), "--addr-out", s.path("addr"),
	}, more...)
	cmd := exec.Command(filepath.Join(s.bin, "pvesim"), args...)
	cmd.Stderr = os.Stderr
	s.ok(cmd.Start())
	s.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	s.until("the simulator", func() bool { info, err := os.Stat(s.path("addr")); return err == nil && info.Size() > 0 })
	s.control = s.read("control")
}

// run starts the agent.
func (s *site) run() {
	s.Helper()
	s.agent = exec.Command(filepath.Join(s.bin, "gitops-agent"), "run", "--config", s.path("config.yaml"))
	log, err := os.OpenFile(s.path("log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	s.ok(err)
	defer func() { _ = log.Close() }()
	s.agent.Stderr, s.agent.Stdout = log, log
	s.ok(s.agent.Start())
	agent := s.agent
	s.Cleanup(func() { _ = agent.Process.Kill(); _ = agent.Wait() })
}

// finish runs a command of the program, which must succeed, and returns its process state.
func (s *site) finish(args ...string) *os.ProcessState {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), filepath.Join(s.bin, "gitops-agent"), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 0 {
		s.Fatalf("gitops-agent %s: got %v, want exit status 0\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return cmd.ProcessState
}

// signal sends a signal to the agent; after SIGKILL it waits for the end.
func (s *site) signal(sig syscall.Signal) {
	s.Helper()
	s.ok(s.agent.Process.Signal(sig))
	if sig == syscall.SIGKILL {
		_ = s.agent.Wait() // "signal: killed" is what is wanted
	}
}

// converged waits until the agent has brought the cluster to the newest commit.
func (s *site) converged() {
	s.Helper()
	s.until("convergence", s.hasConverged)
}

// hasConverged reports whether the agent has converged on the newest commit.
func (s *site) hasConverged() bool {
	doc, ok := s.tryDocument()
	return ok && doc.Converged && doc.Source.Accepted != nil && doc.Source.Accepted.Commit == s.repo.Tip
}

// tryDocument returns the status of the agent, if it answers.
func (s *site) tryDocument() (report.Document, bool) {
	resp, err := http.Get("http://" + s.address + "/status.json")
	if err != nil {
		return report.Document{}, false
	}
	defer func() { _ = resp.Body.Close() }()
	var doc report.Document
	return doc, json.NewDecoder(resp.Body).Decode(&doc) == nil
}

func (s *site) until(what string, condition func() bool) {
	s.Helper()
	s.untilWithin(patience, what, condition)
}

// untilWithin waits for a condition, and fails after a time.
func (s *site) untilWithin(longest time.Duration, what string, condition func() bool) {
	s.Helper()
	for deadline := time.Now().Add(longest); !condition(); time.Sleep(30 * time.Millisecond) {
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(s.path("log"))
			s.Fatalf("waited %s without success for %s; the agent's log:\n%s", longest, what, log)
		}
	}
}

// post sends a request to the control endpoint of the simulator.
func (s *site) post(path string, body any) {
	s.Helper()
	text, err := json.Marshal(body)
	s.ok(err)
	resp, err := http.Post(s.control+path, "application/json", bytes.NewReader(text))
	s.ok(err)
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= 300 {
		s.Fatalf("POST %s: %s", path, resp.Status)
	}
}

func (s *site) get(path string, into any) {
	s.Helper()
	resp, err := http.Get(s.control + path)
	s.ok(err)
	defer func() { _ = resp.Body.Close() }()
	if into == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	} else {
		err = json.NewDecoder(resp.Body).Decode(into)
	}
	s.ok(err)
	if resp.StatusCode != http.StatusOK {
		s.Fatalf("GET %s: %s", path, resp.Status)
	}
}

// effects returns how often an effect happened to a guest, as counted by the simulator.
func (s *site) effects(vmid int, effect string) int {
	s.Helper()
	var counters struct{ Effects map[int]map[string]int }
	s.get("/counters", &counters)
	return counters.Effects[vmid][effect]
}

func (s *site) held() int {
	s.Helper()
	var state struct {
		Held       []json.RawMessage `json:"held"`
		Violations []string          `json:"violations"`
	}
	s.get("/state", &state)
	if len(state.Violations) != 0 {
		s.Fatalf("got violations %v, want none", state.Violations)
	}
	return len(state.Held)
}

const clusterManifest = "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 200, to: 299}}\n"
