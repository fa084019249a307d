package reconcile

import (
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/health"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/policy"
	"gitops-agent/reconcile/queue"
	"gitops-agent/reconcile/recovery"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/retry"
	"gitops-agent/reconcile/secret"
)

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
	waits       map[object.Key]string      // what lanes wait for although the task of their call has ended, as of the newest assessment
	locks       map[int]lockLook           // of guests that a migration locks, by vmid; replaced, never changed by others
	boots       map[int]bootCheck          // of owned guests, by vmid
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

// Addresses returns a lookup of the static addresses of the guests of the newest report: those that were read, or those of the manifest of a guest that was not read.
func (e *Engine) Addresses() func(report.Guest) []netip.Addr { return e.shown.Load().addresses() }

// Idle reports whether no lane works: no call awaits a reply. It is safe for concurrent use.
func (e *Engine) Idle() bool { return e.queue.Depth() == 0 }

// Hint asks for a poll of the remote now. It never blocks.
func (e *Engine) Hint() {
	select {
	case e.hint <- struct{}{}:
	default:
	}
}

// guards are the guards in effect, and what they were derived from.
type guards struct {
	now     guard.Resolved
	wanted  []guest.Desired // as the manifests want them
	staged  map[int]journal.Staged
	former  map[int]guest.Desired // to which guests are held that a rollout has not released
	guarded map[int]journal.Guarded
	owned   map[int]journal.Owned
	cluster journal.ClusterGuarded

	policies map[string]journal.PolicyInForce
	left     map[int][]journal.Former
	signers  map[journal.Label]journal.Introduced
	rules    []policy.Rule // of the repository, in effect
	set      *policy.Set   // of them and of the host

	since  map[string]time.Time // when each held weakening of the Cluster's guards began
	report *report.Guards       // of the present cycle; nil if no revision is in force
}

// rollouts is what the engine knows of rollouts beside the journal.
type rollouts struct {
	settings map[string]guest.Rollout // of the present cycle, by name: the strictest ones of the guests
	guests   map[string][]int         // vmids of the owned guests that share a rollout, by name
	troubled map[string]trouble       // batches in trouble, by name
	waits    map[string]string        // what each rollout waits for, by name
	told     event.Marks[string, stage]

	withheld map[int]gate.Withheld // guests that are not released; replaced, never changed
	former   map[journal.Label][]journal.Introduction

	// What these were derived from.
	staged   map[int]journal.Staged
	progress map[string]journal.Rollout
	released map[int]guest.Desired
}

// trouble is since when a batch has been in trouble without interruption.
type trouble struct {
	batch int
	since time.Time
}

// stage is what an event tells of a rollout.
type stage struct {
	state    journal.RolloutState
	batch    int
	revision string
}

// retries are requests of a person on the host to try guests, Images and other objects again at once.
type retries struct {
	seen    string              // the id of the newest request that a cycle has seen
	request retry.Request       // that this cycle carries out
	found   *retry.Outcome      // for request; nil in a cycle without one
	done    *retry.Outcome      // of the newest request; never changed
	open    map[object.Key]bool // objects whose open step was not settled by the last turn of its lane
}

// ownSnapshots are the snapshots that the agent has taken by the schedules of manifests, as of the newest assessment.
type ownSnapshots struct {
	state     journal.State
	scheduled map[int]*guest.Desired // guests with a schedule, by vmid
	looked    map[int]string         // digest of the configuration with which snapshots that an ended schedule left were read last, by vmid
}

// toldOrders are the orders as they were told last.
type toldOrders struct {
	of        map[string]journal.Order // the newest ones that were looked at
	unmatched map[string]bool          // keys of the approvals that match no step now
	marks     event.Marks[string, journal.OrderState]
}
