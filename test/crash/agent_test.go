//go:build integration

package crash

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"gitops-agent/internal/gooverlay"
	"gitops-agent/internal/loopback"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// patience is the longest time to wait for a process.
const patience = 3 * time.Minute

// agent is an agent with a state directory of its own. It may be running or not.
type agent struct {
	name    string
	state   string // directory
	config  string // file
	log     string // file
	address string
	clock   *gooverlay.Clock
	cmd     *exec.Cmd     // nil while it does not run
	ended   chan struct{} // closed when the process has ended
	logged  int64         // size of the log at the start
	started time.Time
	waited  time.Time // when time passed for it last
	waits   int       // how often, since its start
}

func (w *world) newAgent(name string) *agent {
	w.Helper()
	a := &agent{
		name: name, state: w.path(name), config: w.path(name + ".yaml"), log: w.path(name + ".log"), address: w.freeAddress(),
		clock: &gooverlay.Clock{File: w.path(name + ".clock"), Wall: w.clock.Wall, Mono: w.clock.Mono},
	}
	w.ok(a.clock.Set())
	w.ok(os.WriteFile(a.config, fmt.Appendf(nil, `
cluster: {name: home}
source:
  remotes: [%s]
  poll: 200ms
trust:
  trusted_root_file: %s
  signers:
    - {name: alice, issuer: %q, subject: %q, may: [change]}
    - {name: olga, issuer: %q, subject: %q, may: [approve]}
    - {name: otto, issuer: %q, subject: %q, may: [operate]}
  binding: none
  trust_on_first_use: true
proxmox:
  endpoints: [%q]
  token_file: %s
  ca_file: %s
  tick: 150ms
  resync: 300ms
state_dir: %s
secrets_dir: %s
limits: {task_time: {copies: 5s, allocates: 5s, others: 5s}}
checks: {allow: [127.0.0.0/8]}
images: {allow: [%s]}
listen: %s
`, w.remotes(), w.path("trusted_root.json"), alice.Issuer, alice.Subject, olga.Issuer, olga.Subject, otto.Issuer, otto.Subject, w.endpoint, w.path("token"), w.path("cert"), a.state, w.path("secrets"), imageServer, a.address), 0o600))
	return a
}

// freeAddress returns an address for an agent, which keeps it over all its starts.
func (w *world) freeAddress() string {
	w.Helper()
	address, err := loopback.FreeAddress()
	w.ok(err)
	return address
}

func (a *agent) journal() string { return filepath.Join(a.state, "journal") }

// start checks the journal and starts the agent, unless it runs.
func (w *world) start(a *agent) {
	w.Helper()
	if a.cmd != nil {
		return
	}
	w.checkJournal(a)
	a.cmd = exec.Command(filepath.Join(w.programs, "gitops-agent"), "run", "--config", a.config)
	a.cmd.Env = append(os.Environ(), a.clock.Env(), "GOGC=100") // TestSoak measures memory, and .ci/run sets another value for tests
	log, err := os.OpenFile(a.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	w.ok(err)
	defer func() { _ = log.Close() }()
	info, err := log.Stat()
	w.ok(err)
	a.logged = info.Size()
	a.cmd.Stdout, a.cmd.Stderr = log, log
	w.ok(a.cmd.Start())
	a.started, a.waits = time.Now(), 0
	cmd, ended := a.cmd, make(chan struct{})
	a.ended = ended
	go func() {
		_ = cmd.Wait() // the caller looks at its ProcessState
		close(ended)
	}()
	w.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	w.total.starts.Add(1)
}

// checkJournal fails the test if the journal of an agent that does not run is damaged.
func (w *world) checkJournal(a *agent) {
	w.Helper()
	if _, err := os.Stat(a.journal()); err != nil {
		return
	}
	segments, err := filepath.Glob(filepath.Join(a.journal(), "*.journal"))
	w.ok(err)
	if len(segments) == 0 {
		return // killed before it made the first
	}
	if _, err := journal.Read(a.journal(), func(journal.Record) error { return nil }); err != nil {
		w.Fatalf("got a journal that cannot be read before a start: %v", err)
	}
	w.total.journals.Add(1)
}

// kill kills the agent.
func (w *world) kill(a *agent) {
	w.Helper()
	if a.cmd == nil {
		return
	}
	w.alive(a)
	w.ok(a.cmd.Process.Signal(syscall.SIGKILL))
	<-a.ended
	a.cmd = nil
	w.total.kills.Add(1)
}

// alive fails the test if the agent ended by itself.
func (w *world) alive(a *agent) {
	w.Helper()
	select {
	case <-a.ended:
		w.Fatalf("%s ended by itself: %s", a.name, a.cmd.ProcessState)
	default:
	}
}

// terminate asks the agent to end, and waits for it.
func (w *world) terminate(a *agent) {
	w.Helper()
	w.alive(a)
	w.ok(a.cmd.Process.Signal(syscall.SIGTERM))
	w.total.terms.Add(1)
	w.awaitEnd(a)
}

// awaitEnd waits for the end of an agent that was asked to end.
func (w *world) awaitEnd(a *agent) {
	w.Helper()
	select {
	case <-a.ended:
	case <-time.After(2 * patience):
		w.Fatalf("%s did not end within %s of SIGTERM", a.name, 2*patience)
	}
	// A process that does not handle signals yet ends at once.
	status, _ := a.cmd.ProcessState.Sys().(syscall.WaitStatus)
	early := status.Signal() == syscall.SIGTERM && !a.served(w)
	if code := a.cmd.ProcessState.ExitCode(); code != 0 && !early {
		w.Errorf("got %s of %s after SIGTERM, want exit status 0", a.cmd.ProcessState, a.name)
	}
	a.cmd = nil
}

// served reports whether the agent has logged anything since its start.
func (a *agent) served(w *world) bool {
	w.Helper()
	info, err := os.Stat(a.log)
	w.ok(err)
	return info.Size() > a.logged
}

// document returns the status of an agent, if it answers.
func (a *agent) document() (report.Document, bool) {
	client := http.Client{Timeout: 2 * time.Second}
	resp, err := client.Get("http://" + a.address + "/status.json")
	if err != nil {
		return report.Document{}, false
	}
	defer func() { _ = resp.Body.Close() }()
	var doc report.Document
	return doc, json.NewDecoder(resp.Body).Decode(&doc) == nil
}

// converged reports whether an agent has converged on the newest commit.
func (w *world) converged(a *agent) bool {
	if a.cmd == nil {
		return false
	}
	doc, ok := a.document()
	return ok && doc.Converged && doc.Source.Accepted != nil && doc.Source.Accepted.Commit == w.repo.Tip
}
