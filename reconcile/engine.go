package reconcile

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/health"
	"gitops-agent/reconcile/hostguest"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/pause"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/policy"
	"gitops-agent/reconcile/queue"
	"gitops-agent/reconcile/recovery"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/retry"
	"gitops-agent/reconcile/secret"
	"gitops-agent/reconcile/writer"
	"gitops-agent/verify"
)

// Options configures an Engine. Cluster, Source, Policy, Journal and Scope.Cluster are required.
type Options struct {
	Cluster cluster.Cluster
	Source  *gitsource.Source
	Policy  func() (*verify.Policy, error) // the policy in force; called at every check
	Journal *journal.Journal
	Scope   intake.Scope
	Branch  string

	Poll      time.Duration          // between polls of the remote; 0 is 30 s
	Tick      time.Duration          // between inventories; 0 is 15 s
	Resync    time.Duration          // within which every guest is read in full; 0 is 60 s
	VMList    string                 // the vmlist file, /etc/pve/.vmlist on a node; "" uses none
	Check     time.Duration          // within which guests are read in full that did not change according to VMList; 0 is 10 times Resync
	Parallel  int                    // lanes that work at the same time; 0 is 8
	Limits    queue.Limits           // of the resources that these lanes share
	Tasks     cluster.TaskTimes      // how long tasks may run
	Evidence  intake.Evidence        // about commits of gitsign's online mode; nil finds none
	Promotion *intake.Promotion      // what another cluster must have matched; nil is no such rule
	Separate  bool                   // approvals of the people who introduced a step do not count for it: trust.guards.separateApprover
	Shutdown  time.Duration          // how long lanes may still take after the end of Run's context; 0 is 30 s
	DryRun    bool                   // plan and report, write nothing
	Standby   string                 // why this agent only follows: another one leads. Implies DryRun; "" leads
	Quiet     time.Time              // until then, nothing is done for objects with steps that another agent left open
	Replica   func() *report.Replica // which of several agents this one is; nil if there is only one
	Floors    writer.Keeper          // stores the floor and the writer outside the state directory; nil stores none
	TakeOver  bool                   // claim the cluster even if another agent has claimed it
	Wait      time.Duration          // after a claim of the cluster, before the first write; 0 is 3 s
	Note      intake.RewriteNote     // where allow-rewrite leaves its note; the zero value reads none
	Pause     pause.File             // stops all writes while it exists; the zero value never does
	Recover   recovery.Note          // releases claims of guests whose records were lost; the zero value releases none
	Retry     retry.File             // asks that guests are tried again at once; the zero value asks for nothing
	Secrets   secret.Source          // of the secrets that manifests name
	Minimum   guard.Minimum          // of the guards, whatever is approved
	Health    health.Options         // of the checks in spec.health
	// AllowedServer reports whether nodes may download the files of Images from a server, "cloud.debian.org" or "10.0.0.1:8080"; nil allows none.
	AllowedServer func(server string) bool
	Rules         *policy.Set     // of the host; nil without policies
	Self          hostguest.Facts // of the machine on which the agent runs; the zero value is no guest of the cluster
	Logger        *slog.Logger    // nil logs nothing
	Hooks         Hooks

	Endpoints func() []cluster.Endpoint // the state of each endpoint of the cluster, for the report; nil reports none
}

// Engine keeps the guests of a cluster in the state of the accepted revision. It is level-triggered: every cycle starts from the present
// state of the cluster.
type Engine struct {
	opts    Options
	log     *slog.Logger
	worker  *lane.Worker
	vault   *secret.Vault
	queue   *queue.Queue
	health  *health.Prober
	checked map[string]*guest.Desired // the guests with checks of the present cycle, by label; nil if there are none
	hint    chan struct{}
	lanes   mailbox

	basis  atomic.Pointer[lane.Basis]
	report atomic.Pointer[report.Report]
	shown  atomic.Pointer[shown]

	// The fields below belong to the goroutine of Run or Once.
	revision    revision
	readings    readings
	lease       lease
	guests      []guest.Desired // of the revision in force, with the assigned vmids and the guards in effect
	guards      guards
	rollouts    rollouts
	followed    followed
	policies    gate.Policies // of guests
	rules       *gate.Rules   // of guests; nil without policies
	errands     errands
	recovery    recovery.Found           // guests that have a marker and no record
	ownGuests   map[int]bool             // vmids of the guests in which the agent may run itself; replaced, never changed
	unassigned  error                    // why guests without a vmid did not get one
	unplaced    map[string]plan.Unplaced // new guests for which no node was chosen, by label; replaced, never changed
	uuidHolders map[string]int           // vmids of machines that have the uuid of a manifest without a vmid, by its label
	snapshots   ownSnapshots
	progress    map[object.Key]int         // how far downloads are, in percent, as of the newest assessment
	overridden  map[int]journal.Overridden // run states that orders override, as of the newest assessment
	unsettled   map[object.Key]bool        // objects with a step whose outcome is not known, as of the newest assessment
	tracks      map[object.Key]*track
	cycles      uint64
	lastCycle   span // without the calls to the cluster
	retries     retries
	events      *event.Sink
	said        *event.Subject // what lasts of the agent and the cluster, as it was told
	orders      toldOrders
}

// Report returns the newest report. It is safe for concurrent use. The caller must not change the report.
func (e *Engine) Report() report.Report { return *e.report.Load() }

// Values returns what the manifest wants of a guest of the newest report and what was read, key by key. It is safe for concurrent use.
func (e *Engine) Values(g report.Guest) []report.Value { return e.shown.Load().values(g) }

// Idle reports whether no lane works: no call awaits a reply. It is safe for concurrent use.
func (e *Engine) Idle() bool { return e.queue.Depth() == 0 }

// Hint asks for a poll of the remote now. It never blocks.
func (e *Engine) Hint() {
	select {
	case e.hint <- struct{}{}:
	default:
	}
}

// event adds to the audit history. The journal's own health reports a failure, so an event may be lost.
func (e *Engine) event(ev journal.Event) {
	if ev.Revision == "" {
		ev.Revision = e.basis.Load().Revision
	}
	if e.opts.Journal.Healthy() == nil && !e.opts.DryRun {
		_ = e.opts.Journal.Append(context.Background(), ev)
	}
}
