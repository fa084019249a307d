package lane

import (
	"context"
	"sync"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/secret"
	"gitops-agent/reconcile/volumes"
)

// Options configures a Worker. Cluster, Volumes, Journal, Vault, Epochs and Basis are required.
type Options struct {
	Cluster cluster.Cluster
	Volumes *volumes.Source // of Cluster
	Journal *journal.Journal
	Vault   *secret.Vault
	Epochs  *epoch.Counter
	Basis   func() *Basis // the newest basis
	StepID  func() string // returns an id that no other step has
	// Confirm returns nil if this process is the writer of the cluster, by a reading that began after the call, or that is at most recent old. nil
	// always confirms.
	Confirm func(ctx context.Context, recent time.Duration) error
	Hooks   Hooks

	TaskTimes cluster.TaskTimes
}

// Worker executes the steps of guests, each guest in its own lane. It is safe for concurrent use.
type Worker struct {
	cluster cluster.Cluster
	volumes *volumes.Source
	journal *journal.Journal
	vault   *secret.Vault
	epochs  *epoch.Counter
	basis   func() *Basis
	stepID  func() string
	hooks   Hooks
	confirm func(ctx context.Context, recent time.Duration) error

	inventory  *observe.Shared[cluster.Inventory]
	moves      *observe.Shared[movesSeen]
	taskTimes  cluster.TaskTimes
	hanging    hangingTasks
	progress   progresses
	waits      sync.Map   // what lanes wait for after the task of a call, a string by UPID
	fillsSeen  sync.Map   // ids of open steps: a volume that their calls created cannot be gone again without the agent having seen it
	started    time.Time  // when this process began
	begun      sync.Map   // the open steps that this process began, as begunStep by id
	destroying sync.Mutex // held while destroys are counted and one begins

	users sync.Map // what refused the last removal of an object, an object.Key by journal.ObjectID

	clocks sync.Map // the last readings of the uptime of nodes, as nodeClock by id of a step

	mu      sync.Mutex
	waited  map[string]time.Duration // how long open steps had been open for certain when this process began, by id
	refused map[int]bool             // guests whose last step was refused because of its volumes, by vmid
}

// New returns a worker.
func New(opts Options) *Worker {
	if opts.Confirm == nil {
		opts.Confirm = func(context.Context, time.Duration) error { return nil }
	}
	return &Worker{
		cluster: opts.Cluster, journal: opts.Journal, vault: opts.Vault, epochs: opts.Epochs, basis: opts.Basis, stepID: opts.StepID, hooks: opts.Hooks,
		started: time.Now(), waited: waitedBefore(opts.Journal), volumes: opts.Volumes, refused: make(map[int]bool), confirm: opts.Confirm,
		inventory: observe.NewShared(func(ctx context.Context) (cluster.Inventory, error) { return opts.Cluster.Inventory(ctx) }),
		moves:     observe.NewShared(lookForMoves(opts.Cluster)), taskTimes: opts.TaskTimes, hanging: hangingTasks{tasks: make(map[object.Key]*HangingTaskError), looked: make(map[object.Key]bool)},
	}
}

// append makes records durable, also while the agent is shutting down: a record of an effect is never dropped.
func (w *Worker) append(ctx context.Context, bodies ...journal.Body) error {
	return w.journal.Append(context.WithoutCancel(ctx), bodies...)
}
