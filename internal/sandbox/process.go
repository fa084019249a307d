package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"gitops-agent/reconcile/report"
)

// AgentCommand is the first argument with which an environment runs this program as an agent in a process of its own: AgentCommand FILE.
const AgentCommand = "run-agent"

// Process is an agent in a process of its own, which can be killed.
type Process struct {
	Name    string
	Address string // of its status page
	cmd     *exec.Cmd
	ended   chan struct{}
}

// processSpec is what the process needs of its environment.
type processSpec struct {
	Name, Sandbox, Dir, Endpoint, Fingerprint, Bare string
	Options                                         AgentOptions
}

// StartProcess starts an agent in a process of its own, with a state directory of its name. It ends with the environment.
func (e *Environment) StartProcess(opts AgentOptions, name string) (*Process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log := opts.Log
	opts.Log, opts.Name = nil, name
	text, err := json.Marshal(processSpec{name, e.name, e.dir, e.Endpoint, e.fingerprint, e.Repository.bare, opts})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(e.Path(name+".json"), text, 0o600); err != nil {
		return nil, err
	}
	p := &Process{Name: name, ended: make(chan struct{})}
	p.cmd = exec.CommandContext(e.ctx, program, AgentCommand, e.Path(name+".json")) //nolint:gosec // this program
	p.cmd.Stderr = log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n') // the process prints the address once it listens
	p.Address = strings.TrimSpace(line)
	e.running.Go(func() {
		_ = p.cmd.Wait() // it is killed, or ends with the environment
		close(p.ended)
	})
	if err != nil {
		return nil, fmt.Errorf("the agent %s did not start: %w; -v shows its log", name, err)
	}
	return p, nil
}

// Kill kills the process, as when its host fails.
func (p *Process) Kill() error { return p.end(syscall.SIGKILL) }

// Terminate asks the process to end, and waits until it has.
func (p *Process) Terminate() error { return p.end(syscall.SIGTERM) }

func (p *Process) end(signal syscall.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil {
		return err
	}
	<-p.ended
	return nil
}

// Status returns the status of the agent.
func (p *Process) Status(ctx context.Context) (report.Document, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Address+"/status.json", nil)
	if err != nil {
		return report.Document{}, err
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return report.Document{}, err
	}
	var doc report.Document
	err = json.NewDecoder(reply.Body).Decode(&doc)
	return doc, errors.Join(err, reply.Body.Close())
}

// RunAgent is the process of an agent, which prints the address of its status page. The argument is the file that StartProcess wrote.
func RunAgent(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("%s: got %d arguments, want a file", AgentCommand, len(args))
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var spec processSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return err
	}
	e := &Environment{name: spec.Sandbox, dir: spec.Dir, Endpoint: spec.Endpoint, fingerprint: spec.Fingerprint, Repository: &Repository{bare: spec.Bare}, ctx: ctx}
	spec.Options.Log = os.Stderr
	a, err := e.newAgent(spec.Options, spec.Name, false)
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	if _, err := fmt.Fprintln(stdout, a.Address()); err != nil {
		return errors.Join(err, a.Close())
	}
	return errors.Join(a.Run(ctx), a.Close())
}
