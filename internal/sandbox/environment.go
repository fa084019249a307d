package sandbox

import (
	"cmp"
	"context"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"gitops-agent/internal/agent"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/pvesim/control"
	"gitops-agent/internal/sigtest"
	"gitops-agent/metrics"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// Environment holds the parts of a sandbox. Make it with New, and end it with Close.
type Environment struct {
	Sim        *pvesim.Sim // nil before StartCluster
	Endpoint   string      // of the simulated API
	Repository *Repository
	Agent      *agent.Agent // nil before StartAgent

	name        string
	dir         string
	fingerprint string
	ctx         context.Context //nolint:containedctx // the environment ends with it
	cancel      context.CancelFunc
	running     sync.WaitGroup

	mu     sync.Mutex
	failed error // why the agent or the cluster ended early
}

// New makes a temporary directory in parent, or in that of the host if parent is "", with a Sigstore and an empty repository in which people commit. The
// name is part of the directory's name.
func New(ctx context.Context, parent, name string, people []Person) (*Environment, error) {
	dir, err := os.MkdirTemp(parent, "gitops-agent-"+name+"-")
	if err != nil {
		return nil, err
	}
	e := &Environment{name: name, dir: dir}
	e.ctx, e.cancel = context.WithCancel(ctx)
	if err := e.openSigstore(); err != nil {
		e.Close()
		return nil, fmt.Errorf("sigstore: %w", err)
	}
	if e.Repository, err = newRepository(e.ctx, dir, people); err != nil {
		e.Close()
		return nil, fmt.Errorf("repository: %w", err)
	}
	return e, nil
}

// openSigstore creates a Sigstore and saves it for the signing programs.
func (e *Environment) openSigstore() error {
	marker := []pkix.Extension{verify.SandboxMarker()}
	sigstore, err := sigtest.New(sigtest.Options{Name: e.name, Extensions: map[string][]pkix.Extension{"ca-root": marker, "ca-intermediate": marker}})
	if err != nil {
		return err
	}
	if err := os.Mkdir(e.Path("sigstore"), 0o700); err != nil {
		return err
	}
	return sigstore.Save(e.Path("sigstore"))
}

// StartCluster serves the simulator on loopback and writes the file with its token.
func (e *Environment) StartCluster(sim *pvesim.Sim) error {
	e.Sim = sim
	certificate, err := pvesim.NewCertificate()
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(e.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	e.Endpoint, e.fingerprint = "https://"+listener.Addr().String(), certificate.Fingerprint
	e.running.Go(func() { e.fail(sim.Serve(e.ctx, listener, certificate.Config)) })
	return os.WriteFile(e.TokenFile(), []byte(sim.Token("root@pam!full")+"\n"), 0o600)
}

// StartControl serves the control endpoint of the simulator at a loopback address, and returns its URL.
func (e *Environment) StartControl(address string) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(e.ctx, "tcp", address)
	if err != nil {
		return "", fmt.Errorf("control endpoint: %w", err)
	}
	server := &http.Server{Handler: control.New(e.Sim), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(e.ctx, func() { _ = server.Close() })
	e.running.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			e.fail(err)
		}
	})
	return "http://" + listener.Addr().String(), nil
}

// TokenFile is the file with the token of the simulated API.
func (e *Environment) TokenFile() string { return e.Path("token") }

// AgentOptions are what differs between sandboxes.
type AgentOptions struct {
	Cluster string   // name
	Paths   []string // of the repository that the agent reads; none means all
	Signers []agent.SignerConfig
	Secrets string // directory; "" is none
	// AgeIdentities are files with keys for the encrypted passwords of the repository.
	AgeIdentities []string
	ImageServers  []string // from which nodes may download; images.allow of the config
	Listen        string   // address of the status page
	// Every is the time between polls, and between cycles of the agent; 0 is a second.
	Every time.Duration
	// Etcd are the addresses of an etcd with the journal, which several agents share, each with a Name. None is a journal in files.
	Etcd []string
	Name string
	Log  io.Writer `json:"-"`
}

// StartAgent starts the agent, which fetches the repository and changes the simulated cluster until the environment ends.
func (e *Environment) StartAgent(opts AgentOptions) error {
	var err error
	if e.Agent, err = e.newAgent(opts, "state", false); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	e.running.Go(func() { e.fail(e.Agent.Run(e.ctx)) })
	return nil
}

// Plan lets another agent report what it would do, without changing anything.
func (e *Environment) Plan(opts AgentOptions) (report.Report, error) {
	opts.Listen = ""
	a, err := e.newAgent(opts, "plan", true)
	if err != nil {
		return report.Report{}, fmt.Errorf("plan: %w", err)
	}
	planned, err := a.Once(e.ctx)
	if closing := a.Close(); err == nil {
		err = closing
	}
	return planned, err
}

func (e *Environment) newAgent(opts AgentOptions, state string, dryRun bool) (*agent.Agent, error) {
	every := cmp.Or(opts.Every, time.Second)
	config := agent.Config{
		Cluster: agent.ClusterConfig{Name: opts.Cluster},
		Source: agent.SourceConfig{
			Branch: "main", Remotes: []agent.RemoteConfig{{URL: "file://" + e.Repository.bare}}, Poll: agent.Duration(every), Paths: opts.Paths,
		},
		Trust: agent.TrustConfig{
			TrustedRootFile: e.Path("sigstore", sigtest.TrustedRootFile), Binding: "none", TrustOnFirstUse: true, Signers: opts.Signers,
		},
		Proxmox: agent.ProxmoxConfig{
			Endpoints: []string{e.Endpoint}, TokenFile: e.TokenFile(), Fingerprints: []string{e.fingerprint},
			Tick: agent.Duration(every), Resync: agent.Duration(2 * every),
		},
		Images: agent.ImagesConfig{Allow: opts.ImageServers}, StateDir: e.Path(state), SecretsDir: opts.Secrets, Listen: &opts.Listen,
	}
	config.Journal.Etcd.Endpoints, config.Journal.Etcd.Name = opts.Etcd, opts.Name
	for _, file := range opts.AgeIdentities {
		config.Secrets.AgeIdentities = append(config.Secrets.AgeIdentities, agent.AgeIdentityConfig{File: file})
	}
	var claimWait time.Duration // as outside a sandbox
	if len(opts.Etcd) == 0 {
		claimWait = time.Millisecond // no other agent knows the cluster
	}
	return agent.New(e.ctx, agent.Options{
		Config: config.InSandbox(), Build: metrics.Build{Version: e.name, GoVersion: runtime.Version()}, DryRun: dryRun, ClaimWait: claimWait,
		Logger: slog.New(slog.NewTextHandler(opts.Log, nil)),
	})
}

// Path returns a path below the temporary directory.
func (e *Environment) Path(parts ...string) string {
	return filepath.Join(slices.Insert(parts, 0, e.dir)...)
}

func (e *Environment) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil && e.failed == nil {
		e.failed = err
	}
}

// Err returns why the agent or the cluster ended early, or that the environment was told to end.
func (e *Environment) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed != nil {
		return e.failed
	}
	return e.ctx.Err()
}

// Close ends everything and removes the temporary directory.
func (e *Environment) Close() {
	e.cancel()
	e.running.Wait()
	if e.Agent != nil {
		_ = e.Agent.Close()
	}
	if e.Sim != nil {
		e.Sim.Close()
	}
	_ = os.RemoveAll(e.dir)
}

// Context ends with the environment.
func (e *Environment) Context() context.Context { return e.ctx }
