package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/status"
	"gitops-agent/metrics"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/pause"
	"gitops-agent/reconcile/queue"
	"gitops-agent/reconcile/recovery"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/retry"
	"gitops-agent/reconcile/secret"
	"gitops-agent/verify"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Options configures an Agent.
type Options struct {
	Config Config
	Build  metrics.Build
	Logger *slog.Logger
	DryRun bool
	// TakeOver claims the cluster even if another agent has claimed it.
	TakeOver bool
}

// Agent contains all parts of a running agent. Create it with New, then call Run or Once, then Close.
type Agent struct {
	opts     Options
	engine   *reconcile.Engine
	trust    *trust
	listener net.Listener
	registry *prometheus.Registry
	metrics  *metrics.Metrics
	closers  []io.Closer // in the order of opening; closed in reverse order
}

// New opens every part that can fail: trusted root, API client, journal (with its lock), repository, secrets and listener. It writes nothing
// to the cluster. ctx bounds only New, not the agent.
func New(ctx context.Context, opts Options) (*Agent, error) {
	a := &Agent{opts: opts, registry: prometheus.NewRegistry()}
	if err := a.open(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *Agent) open(ctx context.Context) error {
	c := a.opts.Config
	if err := errors.Join(c.checkPrivateFiles(), checkStateOwner(c.StateDir, os.Geteuid())); err != nil {
		return err
	}
	a.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m := metrics.New(a.registry, a.opts.Build, rejections())
	a.metrics = m
	a.trust = &trust{
		config: c, tuf: c.Trust.TUF, log: a.opts.Logger,
		onRoot: func(r verify.RootInfo) { m.TrustedRoot(fmt.Sprintf("%x", r.SHA256), r.Expiry) },
	}
	if _, err := a.trust.Policy(); err != nil {
		return err
	}
	options := c.proxmoxOptions(a.opts.Logger, m.Request)
	options.MayWrite = c.PauseFile().Check
	client, err := proxmox.New(options)
	if err != nil {
		return fmt.Errorf("proxmox: %w", err)
	}
	a.closers = append(a.closers, closer(client.Close))
	j, err := a.openJournal(m)
	if err != nil {
		return err
	}
	source, err := gitsource.Open(c.sourceOptions(a.opts.Logger))
	if err != nil {
		return err
	}
	secrets, err := c.secrets()
	if err != nil {
		return err
	}
	if err := a.listen(ctx); err != nil {
		return err
	}
	a.engine = reconcile.NewEngine(reconcile.Options{
		Cluster: client, Source: source, Policy: a.trust.Policy, Journal: j, Branch: c.Source.Branch,
		Scope: intake.Scope{Cluster: c.Cluster.Name, Paths: c.Source.Paths},
		Poll:  time.Duration(c.Source.Poll), Tick: time.Duration(c.Proxmox.Tick), Resync: time.Duration(c.Proxmox.Resync),
		VMList: c.Proxmox.VMListFile, Check: time.Duration(c.Proxmox.VMListCheck),
		Parallel: c.Parallel, Limits: queue.Limits{PerNode: c.Limits.GuestsPerNode, PerStorage: c.Limits.CopiesPerStorage}, DryRun: a.opts.DryRun,
		Tasks: c.Limits.TaskTime.times(), Shutdown: c.shutdownTimeout(),
		TakeOver: a.opts.TakeOver,
		Separate: c.Trust.Guards.SeparateApprover,
		Floors:   client, Note: intake.RewriteNote{Dir: c.StateDir}, Pause: c.PauseFile(), Recover: recovery.Note{Dir: c.StateDir}, Retry: retry.File{Dir: c.StateDir}, Logger: a.opts.Logger, Hooks: hooks(m),
		Self:    c.self("/"),
		Health:  c.health(client),
		Secrets: secrets, Minimum: c.Minimum(),
		Endpoints: client.Endpoints,
	})
	return nil
}

func (a *Agent) openJournal(m *metrics.Metrics) (*journal.Journal, error) {
	j, err := journal.Open(journal.Options{
		Dir: a.opts.Config.JournalDir(), OnSync: func(s journal.Sync) { m.JournalSync(s.Records, s.Duration) },
	})
	if err != nil {
		return nil, err
	}
	a.closers = append(a.closers, j)
	a.trust.stateLost = j.Present
	if err := j.Healthy(); err != nil {
		a.opts.Logger.Warn("journal cannot be written, the agent only observes", "error", err)
	}
	return j, nil
}

func (a *Agent) listen(ctx context.Context) error {
	address := *a.opts.Config.Listen
	if address == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for the status page: %w", err)
	}
	a.listener = listener
	a.closers = append(a.closers, listener)
	return nil
}

// Address returns the address of the status page, "127.0.0.1:9746", or "" if there is none.
func (a *Agent) Address() string {
	if a.listener == nil {
		return ""
	}
	return a.listener.Addr().String()
}

// Report returns the newest report.
func (a *Agent) Report() report.Report { return a.engine.Report() }

// Hint requests a poll of the remote now.
func (a *Agent) Hint() { a.engine.Hint() }

// Run reconciles the cluster and serves the status page until ctx ends. It returns an error of the engine, or of the status page.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var serving error
	if a.listener != nil {
		limit := maxConnections(a.opts.Logger)
		a.opts.Logger.InfoContext(ctx, "status page served", "address", a.Address(), "connections", limit)
		a.metrics.StatusConnectionLimit(limit)
		connections := status.NewConnections(status.ConnectionOptions{
			Limit: limit, OnOpen: a.metrics.StatusConnections, Logger: a.opts.Logger,
			OnClose: func(reason status.CloseReason) { a.metrics.StatusConnectionClosed(string(reason)) },
		})
		handler := status.Handler(status.Options{
			Report: a.engine.Report, Gatherer: a.registry, Hint: a.engine.Hint, WebhookToken: a.webhookToken,
			Version: a.opts.Build.Version, StaleAfter: a.opts.Config.staleAfter(), Logger: a.opts.Logger,
		})
		wg.Go(func() {
			defer cancel()
			serving = status.Serve(ctx, a.listener, handler, connections)
		})
	}
	wg.Go(func() { a.trust.keepFresh(ctx) })
	err := a.engine.Run(ctx)
	cancel()
	wg.Wait()
	return errors.Join(err, serving)
}

// Once polls the remote once, and works until all remaining work waits for a person or another system. It then refreshes the trusted root for
// the next run; the result does not depend on that refresh.
func (a *Agent) Once(ctx context.Context) (report.Report, error) {
	report, err := a.engine.Once(ctx)
	if a.trust.tuf.URL != "" {
		_ = a.trust.refresh(ctx) // refresh logs the error
	}
	return report, err
}

// Close closes all parts, in reverse order of opening.
func (a *Agent) Close() error {
	var problems []error
	for _, c := range slices.Backward(a.closers) {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			problems = append(problems, err)
		}
	}
	a.closers = nil
	return errors.Join(problems...)
}

// webhookToken reads the secret at each call, so that it can be rotated.
func (a *Agent) webhookToken() (string, error) {
	path := a.opts.Config.Source.WebhookTokenFile
	if path == "" {
		return "", nil
	}
	if err := checkPrivate("source.webhook_token_file", path); err != nil {
		return "", err
	}
	text, err := os.ReadFile(path) //nolint:gosec // the operator chooses the path
	return strings.TrimSpace(string(text)), err
}

type closer func()

func (c closer) Close() error { c(); return nil }

// shutdownTimeout returns the time that the agent may take to end. The last sixth is for what follows the last reply.
func (c Config) shutdownTimeout() time.Duration {
	return cmp.Or(time.Duration(c.ShutdownTimeout), 30*time.Second)
}

// JournalDir returns the directory of the journal.
func (c Config) JournalDir() string { return filepath.Join(c.StateDir, "journal") }

// secrets returns the source of the passwords that manifests name. The caller must hold the lock of the state directory, because secrets creates
// the key if there is none.
func (c Config) secrets() (secret.Source, error) {
	if c.SecretsDir == "" {
		return secret.Source{}, nil
	}
	key, err := secretKey(c.StateDir)
	return secret.Source{Read: newSecretDir(c.SecretsDir).read, Key: key}, err
}

// RepositoryDir returns the directory of the fetched repository.
func (c Config) RepositoryDir() string { return filepath.Join(c.StateDir, "repository") }

// PauseFile is the file that stops all writes.
func (c Config) PauseFile() pause.File { return pause.File{Dir: c.StateDir} }

// ProxmoxReader returns a client that cannot write.
func (c Config) ProxmoxReader(log *slog.Logger) (*proxmox.Reader, error) {
	if err := checkPrivate("proxmox.token_file", c.Proxmox.TokenFile); err != nil {
		return nil, err
	}
	return proxmox.NewReader(c.proxmoxOptions(log, nil))
}

func (c Config) proxmoxOptions(log *slog.Logger, onRequest func(method, route, code string, d time.Duration)) proxmox.Options {
	p := c.Proxmox
	return proxmox.Options{
		Endpoints: p.Endpoints, TokenFile: p.TokenFile, CAFile: p.CAFile, Fingerprints: p.Fingerprints,
		Timeout: time.Duration(p.Timeout), Grace: c.shutdownTimeout() * 5 / 6, OnRequest: onRequest, Logger: log,
	}
}

func (c Config) sourceOptions(log *slog.Logger) gitsource.Options {
	opts := gitsource.Options{Dir: c.RepositoryDir(), Branch: c.Source.Branch, Timeout: time.Duration(c.Source.Timeout), Logger: log}
	for _, r := range c.Source.Remotes {
		opts.Remotes = append(opts.Remotes, r.Remote())
	}
	return opts
}

// Remote returns the remote that the config describes.
func (r RemoteConfig) Remote() gitsource.Remote {
	return gitsource.Remote{
		URL: r.URL, Username: r.Username, TokenFile: r.TokenFile, SSHKeyFile: r.SSHKeyFile, KnownHostsFile: r.KnownHostsFile, CAFile: r.CAFile,
	}
}
