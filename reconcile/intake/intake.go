package intake

import (
	"log/slog"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/writer"
	"gitops-agent/verify"
)

// Options configures an Intake. Source, Policy, Journal, Scope.Cluster and Epochs are required.
type Options struct {
	Source  *gitsource.Source
	Policy  func() (*verify.Policy, error) // the policy in force; the trusted root may be replaced while the agent runs
	Journal *journal.Journal
	Scope   Scope
	Epochs  *epoch.Counter
	Hooks   Hooks
	Writer  *writer.Writer // stores the floor; nil stores none
	Note    RewriteNote
	// MayWrite returns why nothing may be written to the cluster at this moment; nil always allows it.
	MayWrite func() error
	// RecordSigners says that the journal has to record who introduced what: the people who introduced a step may not approve it, or policies judge the signers.
	RecordSigners bool
	Minimum       guard.Minimum // the host's bound of guards
	Evidence      Evidence      // nil finds none, but that in the journal

	Fetched   func(head gitsource.ID, at time.Time) // is told each head that has to be checked, before the check, which may wait for the cluster; nil: it is not told to anyone
	Promotion *Promotion                            // nil accepts revisions that no other cluster has matched

	Shared bool         // other agents accept revisions in the same journal, which this host may not have fetched yet
	DryRun bool         // read the floor without writing it, and journal nothing
	Log    *slog.Logger // nil logs nothing
	Events *event.Sink  // nil tells nothing
}

// Intake turns the head of the branch into the revision in force. It belongs to one goroutine.
type Intake struct {
	source   *gitsource.Source
	policy   func() (*verify.Policy, error)
	journal  *journal.Journal
	scope    Scope
	epochs   *epoch.Counter
	hooks    Hooks
	writer   *writer.Writer
	note     RewriteNote
	shared   bool
	dryRun   bool
	mayWrite func() error
	evidence Evidence
	promoted *Promotion
	fetched  func(gitsource.ID, time.Time)
	notes    gitsource.ID // of the remote that served the newest head

	recordSigners bool
	minimum       guard.Minimum
	log           *slog.Logger
	events        *event.Sink

	force     InForce
	raising   *floorWrite // nil if the floor is not being written
	floorDue  bool        // the accepted revision is not yet the cluster's floor
	said      *event.Subject
	wouldBe   *journal.Accepted // the revision that a dry run would have accepted last
	revoked   bool              // the accepted revision was rejected when it was verified again
	absent    bool              // of these, because the repository did not have it
	checkedBy *verify.Policy    // the policy that verified the accepted revision since the start; nil if none did
	selected  selection         // of the newest poll
	refused   refusedHead       // the newest one
	former    formerTrees
}

// New returns an intake that has not polled yet.
func New(opts Options) *Intake {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Events == nil {
		opts.Events = event.NewSink(opts.Log)
	}
	if opts.MayWrite == nil {
		opts.MayWrite = func() error { return nil }
	}
	if opts.Writer == nil {
		opts.Writer = writer.New(writer.Options{Journal: opts.Journal})
	}
	if opts.Fetched == nil {
		opts.Fetched = func(gitsource.ID, time.Time) {}
	}
	return &Intake{
		fetched: opts.Fetched, source: opts.Source, policy: opts.Policy, journal: opts.Journal, scope: opts.Scope, epochs: opts.Epochs, hooks: opts.Hooks,
		recordSigners: opts.RecordSigners, minimum: opts.Minimum,
		writer: opts.Writer, note: opts.Note, evidence: opts.Evidence, promoted: opts.Promotion, shared: opts.Shared, dryRun: opts.DryRun, mayWrite: opts.MayWrite, log: opts.Log, events: opts.Events, said: opts.Events.Subject(),
	}
}

// InForce is the revision in force at one moment, and whether it still verifies. It is immutable. The zero value has no revision.
type InForce struct {
	Limits     gate.Limits           // of the policy's signers; nil while no policy verified the revision
	Released   map[int]guest.Desired // what guests are held to that a rollout has not released, by vmid; nil if there are none
	Accepted   Accepted              // not Valid while no revision was accepted, or while none verified since the start
	Unverified error                 // why the accepted revision does not verify; nil if it does
	Epoch      epoch.Number          // the epoch that began when this value came into force
	Seen       time.Time             // when the revision's commit was fetched first; for a resumed revision, when it was resumed
	Since      time.Time             // when the revision was accepted or resumed
	Resumed    bool                  // an earlier run of the agent accepted the revision
}

// InForce returns the revision in force. Only the goroutine of the intake may call it.
func (in *Intake) InForce() InForce { return in.force }

// last returns the revision that was accepted last, nil if there is none.
func (in *Intake) last() *journal.Accepted {
	if in.wouldBe != nil {
		return in.wouldBe
	}
	return in.journal.State().Accepted
}
