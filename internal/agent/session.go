package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/attest"
	"gitops-agent/internal/commitstatus"
	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/status"
	"gitops-agent/internal/status/access"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/history"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/journal/etcdstore"
	"gitops-agent/reconcile/queue"
	"gitops-agent/reconcile/recovery"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/retry"
	"gitops-agent/verify"
)

// session contains the parts that depend on the config. A reload replaces it as a whole.
type session struct {
	config   Config
	engine   *reconcile.Engine
	journal  *journal.Journal
	leading  *etcdstore.Leadership // nil without replicas, and for a standby
	trust    *trust
	history  *history.Index
	reporter *commitstatus.Reporter // nil without a forge
	attester *attest.Publisher      // nil without a key
	access   *access.Access         // nil without a listener
	handler  http.Handler           // nil without a listener
	local    http.Handler           // of the socket in the state directory
	closers  []io.Closer            // in the order of opening; closed in reverse order
}

// openSession opens the parts of a config.
func (a *Agent) openSession(config Config, takeOver bool) (*session, error) {
	s := &session{config: config, history: &history.Index{}}
	if err := s.open(a, takeOver); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *session) open(a *Agent, takeOver bool) error {
	c, log, m := s.config, a.opts.Logger, a.metrics
	m.TokenExpiry(c.Proxmox.TokenExpires)
	if err := errors.Join(c.checkPrivateFiles(), checkStateOwner(c.StateDir, os.Geteuid())); err != nil {
		return err
	}
	s.trust = &trust{
		config: c, tuf: c.Trust.TUF, log: log,
		onRoot: func(r verify.RootInfo) { m.TrustedRoot(fmt.Sprintf("%x", r.SHA256), r.Expiry) },
	}
	if _, err := s.trust.Policy(); err != nil {
		return err
	}
	options := c.proxmoxOptions(log, func(e cluster.Exchange) {
		m.Request(e)
		a.traces.Request(e)
	})
	s.leading = a.replicas.leadership()
	options.MayWrite = s.mayWrite(a)
	client, err := proxmox.New(options)
	if err != nil {
		return fmt.Errorf("proxmox: %w", err)
	}
	s.closers = append(s.closers, closer(client.Close))
	j, err := s.openJournal(a)
	if err != nil {
		return err
	}
	source, err := gitsource.Open(c.sourceOptions(log))
	if err != nil {
		return err
	}
	finder, err := c.Trust.finder(source)
	if err != nil {
		return err
	}
	promotion, err := c.Promotion(source.Repository(), source.FetchNotes)
	if err != nil {
		return err
	}
	secrets, err := c.secrets(log)
	if err != nil {
		return err
	}
	if err := s.openStatus(a); err != nil {
		return err
	}
	rules, err := c.Rules()
	if err != nil {
		return err
	}
	checks, err := c.health(client)
	if err != nil {
		return err
	}
	if err := errors.Join(s.openReporter(a), s.openAttester(a)); err != nil {
		return err
	}
	s.engine = reconcile.NewEngine(reconcile.Options{
		Cluster: client, Source: source, Policy: s.trust.Policy, Journal: j, Branch: c.Source.Branch,
		Evidence: finder, Promotion: promotion,
		Scope: intake.Scope{Cluster: c.Cluster.Name, Paths: c.Source.Paths},
		Poll:  time.Duration(c.Source.Poll), Tick: time.Duration(c.Proxmox.Tick), Resync: time.Duration(c.Proxmox.Resync),
		VMList: c.Proxmox.VMListFile, Check: time.Duration(c.Proxmox.VMListCheck),
		Parallel: c.Parallel, Limits: queue.Limits{PerNode: c.Limits.GuestsPerNode, PerStorage: c.Limits.CopiesPerStorage}, DryRun: a.opts.DryRun,
		Tasks: c.Limits.TaskTime.times(), Shutdown: c.shutdownTimeout(),
		TakeOver: takeOver, Wait: a.opts.ClaimWait,
		Standby: s.standbyReason(a), Quiet: s.quietUntil(), Replica: a.replica(), Refused: a.refused(), RootDoubt: s.trust.doubt,
		Separate: c.Trust.Guards.SeparateApprover,
		Floors:   client, Note: intake.RewriteNote{Dir: c.StateDir}, Pause: c.PauseFile(), Recover: recovery.Note{Dir: c.StateDir}, Retry: retry.File{Dir: c.StateDir}, Logger: log, Hooks: s.hooks(m, a.traces, a.notifier),
		Self:          c.self("/"),
		Health:        checks,
		AllowedServer: c.AllowedServer(),
		Rules:         rules,
		Secrets:       secrets, Minimum: c.Minimum(),
		Endpoints: client.Endpoints,
	})
	return nil
}

func (s *session) openJournal(a *Agent) (*journal.Journal, error) {
	opts := journal.Options{
		Dir: s.config.JournalDir(), OnRecord: s.history.Add, OnSync: func(sync journal.Sync) { a.metrics.JournalSync(sync.Records, sync.Duration) },
	}
	open := journal.Open
	if a.replicas != nil {
		open = func(opts journal.Options) (*journal.Journal, error) {
			if ended := a.current.Load(); ended != nil {
				return a.replicas.openJournal(opts, ended.journal)
			}
			return a.replicas.openJournal(opts, nil)
		}
	}
	j, err := open(opts)
	if err != nil {
		return nil, err
	}
	s.journal = j
	s.closers = append(s.closers, j)
	s.trust.stateLost = j.Present
	a.traces.Resume(pastOf(s.history, j.State()))
	if err := j.Healthy(); err != nil {
		a.opts.Logger.Warn("journal cannot be written, the agent only observes", "error", err)
	}
	return j, nil
}

// values returns the keys of a guest. The engine is made after the handler.
func (s *session) values(g report.Guest) []report.Value { return s.engine.Values(g) }

// addresses returns the lookup of the static addresses of guests.
func (s *session) addresses() func(report.Guest) []netip.Addr { return s.engine.Addresses() }

// openStatus makes the handlers of the status page and of the socket.
func (s *session) openStatus(a *Agent) (err error) {
	opts := status.Options{
		Report: a.Report, Values: s.values, Addresses: s.addresses, History: s.history, Gatherer: a.registry, Hint: a.Hint, Webhooks: s.config.webhooks(), Path: s.config.Status.Path,
		OnWebhook: func(r status.WebhookResult) { a.metrics.Webhook(string(r)) },
		Links:     status.Links(s.config.Status.Links), Target: s.config.TrailerTarget(),
		Version: a.opts.Build.Version, StaleAfter: s.config.staleAfter(), Logger: a.opts.Logger,
	}
	s.local = status.Local(opts)
	if *s.config.Listen == "" {
		return nil
	}
	if s.access, err = access.New(s.config.accessOptions(a.opts.Logger, a.metrics.StatusRefused)); err != nil {
		return err
	}
	opts.Access = s.access
	s.handler = status.Handler(opts)
	return nil
}

// mayWrite returns the check immediately before each request that may change the cluster.
func (s *session) mayWrite(a *Agent) func() error {
	pause := s.config.PauseFile()
	return func() error {
		if s.leading != nil {
			if err := s.leading.Check(); err != nil {
				return err
			}
		} else if a.replicas != nil {
			return journal.ErrStandby
		}
		return pause.Check()
	}
}

// standbyReason returns why this session only follows, "" if it leads. A dry run follows too, and never leads.
func (s *session) standbyReason(a *Agent) string {
	if s.leading != nil || a.replicas == nil || a.opts.DryRun {
		return ""
	}
	return "another agent leads, or will: this one takes over if that one fails"
}

// quietUntil returns until when guests with open steps of the leader before are left alone.
func (s *session) quietUntil() time.Time {
	if s.leading == nil {
		return time.Time{}
	}
	return s.leading.QuietUntil
}

// ending says why a session ended: neither field is set if its context or its engine ended.
type ending struct {
	asked *reload // a reload was asked for
	role  bool    // this agent leads now, or leads no more
}

// run reconciles the cluster until ctx ends, until a reload is asked for, or until the role of this agent changes. It returns after the engine has ended.
func (s *session) run(ctx context.Context, reloads <-chan reload, among *replicas, dryRun bool) (ending, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var refreshing sync.WaitGroup
	defer refreshing.Wait()
	defer stop()
	refreshing.Go(func() { s.trust.keepFresh(ctx) })
	standby := among.isStandby()
	if s.reporter != nil && !standby {
		refreshing.Go(func() { s.reporter.Run(ctx) })
	}
	if s.attester != nil && !standby {
		refreshing.Go(func() { s.attester.Run(ctx) })
	}
	if among != nil && !dryRun {
		refreshing.Go(func() { among.probe(ctx) })
	}
	ended, changed := make(chan error, 1), make(chan struct{})
	go func() { ended <- s.engine.Run(ctx) }()
	refreshing.Go(func() {
		switch {
		case s.leading != nil:
			journalLost(ctx, s.leading, s.journal)
		case standby && !dryRun && among.campaign(ctx):
		default:
			return
		}
		close(changed)
	})
	select {
	case err := <-ended:
		return ending{}, err
	case asked := <-reloads:
		stop()
		return ending{asked: &asked}, <-ended
	case <-changed:
		stop()
		return ending{role: true}, <-ended
	}
}

// Close closes all parts, in reverse order of opening.
func (s *session) Close() error {
	var problems []error
	for _, c := range slices.Backward(s.closers) {
		problems = append(problems, c.Close())
	}
	s.closers = nil
	return errors.Join(problems...)
}

// closer is a function that closes something and cannot fail.
type closer func()

func (c closer) Close() error { c(); return nil }
