package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/evidence"
	"gitops-agent/internal/notify"
	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/service"
	"gitops-agent/internal/status"
	"gitops-agent/internal/status/access"
	"gitops-agent/internal/traces"
	"gitops-agent/metrics"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/pause"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/secret"

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
	// ClaimWait is how long the agent waits between its claim of the cluster and its first write; 0 is 3 s. It is shorter only where no other agent knows the
	// cluster.
	ClaimWait time.Duration
}

// Agent contains all parts of a running agent. Create it with New, then call Run or Once, then Close.
type Agent struct {
	opts     Options
	listener net.Listener
	registry *prometheus.Registry
	metrics  *metrics.Metrics
	reloads  chan reload
	notifier *notify.Notifier
	events   *event.Sink // of the agent itself: reloads
	traces   *traces.Recorder
	manager  *service.Manager
	replicas *replicas // nil if the journal is in files

	current atomic.Pointer[session]
	last    atomic.Pointer[report.Report] // of the session before; shown until the current one has a report
}

// New checks the config as Config.Check does, and opens every part that can fail: trusted root, API client, journal (with its lock), repository, secrets and
// listener. It writes nothing to the cluster. The same config is good for a start, a reload and config check. ctx bounds only New, not the agent.
func New(ctx context.Context, opts Options) (*Agent, error) {
	if err := opts.Config.Check(); err != nil {
		return nil, err
	}
	a := &Agent{opts: opts, registry: prometheus.NewRegistry(), reloads: make(chan reload), manager: service.New(opts.Logger)}
	a.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	a.metrics = metrics.New(a.registry, opts.Build, reasons())
	a.notifier = notify.New(notify.Options{
		Report: a.Report, OnResult: func(r notify.Result) { a.metrics.Notification(string(r)) }, Logger: opts.Logger,
		File: filepath.Join(opts.Config.StateDir, notificationsFile),
	})
	a.traces = traces.New(traces.Options{
		Cluster: opts.Config.Cluster.Name, Version: opts.Build.Version, Logger: opts.Logger,
		OnResult: func(r traces.Result, spans int) { a.metrics.TraceSpans(string(r), spans) },
	})
	a.metrics.UseTraces(a.traces.IDs)
	a.opts.Logger = slog.New(a.traces.Handler(opts.Logger.Handler()))
	a.events = event.NewSink(a.opts.Logger, a.notifier.Event)
	var err error
	if a.replicas, err = opts.Config.openReplicas(a.opts.Logger); err != nil {
		return nil, err
	}
	if a.replicas != nil {
		a.metrics.UseReplica(a.replicas.report)
	}
	if err := errors.Join(a.configureNotifier(opts.Config), a.configureTraces(opts.Config)); err != nil {
		return nil, errors.Join(err, a.replicas.close())
	}
	first, err := a.openSession(opts.Config, a.takesOver())
	if err != nil {
		return nil, errors.Join(err, a.replicas.close())
	}
	a.current.Store(first)
	if err := a.listen(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
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
func (a *Agent) Report() report.Report {
	newest := a.current.Load().engine.Report()
	if last := a.last.Load(); newest.Time.IsZero() && last != nil {
		return *last
	}
	return newest
}

// Hint requests a poll of the remote now.
func (a *Agent) Hint() { a.current.Load().engine.Hint() }

// Run reconciles the cluster, and serves the status page and the socket for the commands on this host, until ctx ends. It returns an error of the engine, or of what it serves. Without the socket, of
// which only the log tells, the agent works as before: a file system that is full or read-only must not stop it.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var serving, servingLocal error
	if a.listener != nil {
		wg.Go(func() {
			defer cancel()
			serving = a.serve(ctx)
		})
	}
	socket, err := access.ListenSocket(ctx, a.opts.Config.StateDir)
	if err != nil {
		a.opts.Logger.WarnContext(ctx, "commands on this host cannot read the status", "error", err)
	} else {
		wg.Go(func() {
			defer cancel()
			servingLocal = a.serveLocal(ctx, socket)
		})
	}
	stop := a.tell()
	started := time.Now()
	wg.Go(func() {
		a.manager.Run(ctx, func() bool { return a.isAlive(started) }, func() string { return status.Summary(a.Report()) })
	})
	err = a.runSessions(ctx)
	cancel()
	wg.Wait()
	stop()
	return errors.Join(err, serving, servingLocal)
}

// localConnections is how many commands on this host can read the status at the same time.
const localConnections = 8

// serveLocal answers the commands on this host until ctx ends.
func (a *Agent) serveLocal(ctx context.Context, socket net.Listener) error {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.current.Load().local.ServeHTTP(w, r) })
	return status.Serve(ctx, socket, handler, status.NewConnections(status.ConnectionOptions{Limit: localConnections, Logger: a.opts.Logger}))
}

// serve serves the status page until ctx ends.
func (a *Agent) serve(ctx context.Context) error {
	limit := maxConnections(a.opts.Logger)
	a.opts.Logger.InfoContext(ctx, "status page served", "address", a.Address(), "connections", limit)
	a.metrics.StatusConnectionLimit(limit)
	connections := status.NewConnections(status.ConnectionOptions{
		Limit: limit, OnOpen: a.metrics.StatusConnections, Logger: a.opts.Logger,
		OnClose: func(reason status.CloseReason) { a.metrics.StatusConnectionClosed(string(reason)) },
	})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.current.Load().handler.ServeHTTP(w, r) })
	return status.Serve(ctx, a.current.Load().access.Listener(a.listener), handler, connections)
}

// Once polls the remote once, and works until all remaining work waits for a person or another system. It then writes an attestation, and refreshes the trusted root for
// the next run; the result does not depend on that refresh.
func (a *Agent) Once(ctx context.Context) (report.Report, error) {
	defer a.tell()()
	if a.replicas != nil && !a.opts.DryRun {
		if err := a.leadNow(ctx); err != nil {
			return report.Report{}, err
		}
	}
	s := a.current.Load()
	report, err := s.engine.Once(ctx)
	if s.attester != nil {
		s.attester.Write(ctx)
	}
	if s.trust.tuf.URL != "" {
		_ = s.trust.refresh(ctx) // refresh logs the error
	}
	return report, err
}

// leadNow makes this agent the leader, or returns an error if another one leads.
func (a *Agent) leadNow(ctx context.Context) error {
	if err := a.replicas.leadNow(ctx); err != nil {
		return err
	}
	return a.changeRole(ctx)
}

// replica returns the function that describes this agent among others, nil if it is the only one.
func (a *Agent) replica() func() *report.Replica {
	if a.replicas == nil {
		return nil
	}
	return a.replicas.report
}

// refused returns the function that says why etcd would let no agent lead, nil if the journal is in files.
func (a *Agent) refused() func() error {
	if a.replicas == nil {
		return nil
	}
	return a.replicas.refused
}

// tell sends messages and traces until the returned function is called, which waits until those that wait are sent, at most for three seconds.
func (a *Agent) tell() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { a.notifier.Run(ctx) })
	running.Go(func() { a.traces.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// configureNotifier brings the notifications of a config into force.
func (a *Agent) configureNotifier(c Config) error {
	settings, err := c.notificationSettings()
	if a.replicas.isStandby() {
		settings = notify.Settings{} // the leader tells
	}
	if err == nil {
		a.notifier.Configure(settings)
	}
	return err
}

// Close closes all parts, in reverse order of opening.
func (a *Agent) Close() error {
	var err error
	if a.listener != nil {
		if err = a.listener.Close(); errors.Is(err, net.ErrClosed) {
			err = nil
		}
	}
	last := a.current.Load()
	err = errors.Join(err, last.Close())
	if a.replicas != nil {
		a.replicas.stepDown(last.engine.Idle())
	}
	return errors.Join(err, a.replicas.close())
}

// shutdownTimeout returns the time that the agent may take to end. The last sixth is for what follows the last reply.
func (c Config) shutdownTimeout() time.Duration {
	return cmp.Or(time.Duration(c.ShutdownTimeout), 30*time.Second)
}

// JournalDir returns the directory of the journal.
func (c Config) JournalDir() string { return filepath.Join(c.StateDir, "journal") }

// secrets returns the source of the passwords that manifests name, with the key of the fingerprints of what guests were created with. The caller must hold the lock of the state directory, because secrets creates
// the key if there is none.
func (c Config) secrets(log *slog.Logger) (secret.Source, error) {
	source := c.secretSource()
	var err error
	source.Key, err = secretKey(c.StateDir)
	if err != nil && source.Read == nil && source.Decrypt == nil { // no password needs the key
		log.Warn("key of fingerprints not usable: guests are not compared with what they were created with", "error", err)
		err = nil
	}
	return source, err
}

// FingerprintKey returns the key of the fingerprints in the journal, nil if there is none or it cannot be read.
func (c Config) FingerprintKey() []byte {
	key, err := os.ReadFile(filepath.Join(c.StateDir, secretKeyFile))
	if err != nil || len(key) != secretKeySize {
		return nil
	}
	return key
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

func (c Config) proxmoxOptions(log *slog.Logger, onRequest func(cluster.Exchange)) proxmox.Options {
	p := c.Proxmox
	return proxmox.Options{
		Endpoints: p.Endpoints, TokenFile: p.TokenFile, CAFile: p.CAFile, Fingerprints: p.Fingerprints,
		Timeout: time.Duration(p.Timeout), Grace: c.shutdownTimeout() * 5 / 6, OnRequest: onRequest, Logger: log,
	}
}

func (c Config) sourceOptions(log *slog.Logger) gitsource.Options {
	opts := gitsource.Options{Dir: c.RepositoryDir(), Branch: c.Source.Branch, Timeout: time.Duration(c.Source.Timeout), Notes: evidence.NotesRef, Logger: log}
	for _, r := range c.Source.Remotes {
		opts.Remotes = append(opts.Remotes, r.Remote())
	}
	return opts
}

// OpenSource opens a copy of the branch in another directory than the agent's, with the settings of the agent.
func (c Config) OpenSource(dir string, log *slog.Logger) (*gitsource.Source, error) {
	opts := c.sourceOptions(log)
	opts.Dir = dir
	return gitsource.Open(opts)
}

// Remote returns the remote that the config describes.
func (r RemoteConfig) Remote() gitsource.Remote {
	return gitsource.Remote{
		URL: r.URL, Username: r.Username, TokenFile: r.TokenFile, SSHKeyFile: r.SSHKeyFile, KnownHostsFile: r.KnownHostsFile, CAFile: r.CAFile,
	}
}
