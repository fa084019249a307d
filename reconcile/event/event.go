package event

// Key is the attribute of a log line that names its event.
const Key = "event"

// Name is the stable name of an event: what it concerns, a dot, and what happened.
type Name string

// Events of revisions.
const (
	RevisionAccepted   Name = "revision.accepted"
	RevisionResumed    Name = "revision.resumed"    // after a start, or when it verifies again
	RevisionUnverified Name = "revision.unverified" // the revision in force no longer verifies
	RevisionRefused    Name = "revision.refused"
	RevisionUnnamed    Name = "revision.unnamed"   // newer commits name targets that no Cluster of the repository has
	RevisionWaiting    Name = "revision.waiting"   // for evidence
	RevisionWithdrawn  Name = "revision.withdrawn" // a head that was refused, or that waited, is the head no longer
	RevisionConverged  Name = "revision.converged"
)

// Events of plans and steps.
const (
	PlanMade      Name = "plan.made" // with a step that the plan before did not have
	StepHeld      Name = "step.held"
	StepReleased  Name = "step.released"  // a step that was held may run
	StepWithdrawn Name = "step.withdrawn" // a step that was held is no longer planned
	StepBegun     Name = "step.begun"
	StepEnded     Name = "step.ended"
	StepSettled   Name = "step.settled" // the outcome of an open step is known
)

// Events of orders.
const (
	OrderAccepted  Name = "order.accepted"
	OrderExecuted  Name = "order.executed"
	OrderRefused   Name = "order.refused"
	OrderExpired   Name = "order.expired"
	OrderUnmatched Name = "order.unmatched" // an approval that no step needs
	OrderMatched   Name = "order.matched"   // the approval, or it has ended
	OrderUnknown   Name = "order.unknown"   // its step may have run
	OrderFailed    Name = "order.failed"    // Proxmox refused its call, or its task failed
)

// Events of guests.
const (
	GuestDrifted   Name = "guest.drifted"
	GuestRepaired  Name = "guest.repaired"
	GuestFailed    Name = "guest.failed"
	GuestSucceeded Name = "guest.succeeded" // what failed has succeeded, or is not needed any more
	GuestDestroyed Name = "guest.destroyed"
	GuestRecovered Name = "guest.recovered" // its ownership record was lost and is there again
	GuestPlaced    Name = "guest.placed"    // its node was chosen, before it is created
	GuestRetried   Name = "guest.retried"   // a person asked that it is tried again at once
)

// Events of what keeps the agent from work.
const (
	GuestHidden     Name = "guest.hidden" // from the token
	GuestVisible    Name = "guest.visible"
	HAFailed        Name = "ha.failed" // the HA manager gave a guest up
	HARecovered     Name = "ha.recovered"
	TaskHangs       Name = "task.hangs"
	TaskEnded       Name = "task.ended" // one that hung
	ClusterLost     Name = "cluster.lost"
	ClusterReady    Name = "cluster.ready"
	SourceLost      Name = "source.lost"
	SourceAnswers   Name = "source.answers"
	StateLost       Name = "state.lost" // the state directory
	StateRestored   Name = "state.restored"
	JournalFailed   Name = "journal.failed"
	JournalFollowed Name = "journal.followed" // a journal that failed can be used again
	ClockDiffers    Name = "clock.differs"    // from that of a node
	ClockAgrees     Name = "clock.agrees"
	RootExpired     Name = "root.expired" // the trusted root
	RootRenewed     Name = "root.renewed"
)

// Events of rollouts.
const (
	RolloutAdvanced Name = "rollout.advanced" // a batch begins, or is ready
	RolloutFailed   Name = "rollout.failed"   // a batch is not ready in time
	RolloutHeld     Name = "rollout.held"     // the local state was lost
	RolloutEnded    Name = "rollout.ended"    // done or aborted
)

// Events of guards.
const (
	GuardHeld      Name = "guard.held"      // a manifest weakens it, and approvals are missing
	GuardWithdrawn Name = "guard.withdrawn" // the manifests no longer weaken it
	GuardWeakened  Name = "guard.weakened"
)

// Events of the agent's permission to write.
const (
	WritesStopped   Name = "writes.stopped"
	WritesAllowed   Name = "writes.allowed"
	AgentPaused     Name = "agent.paused"
	AgentResumed    Name = "agent.resumed"
	AgentClaimed    Name = "agent.claimed" // this process is about to become the writer of the cluster
	AgentSuperseded Name = "agent.superseded"
)

// Events of the agent's config, which package agent logs.
const (
	ConfigReloaded Name = "config.reloaded"
	ConfigRefused  Name = "config.refused"
)

// States that have a line in the log, or a count, and no event: docs/events.md does not list them, and their lines may change.
const (
	VMListUnused      Name = "vmlist.unused" // the sweep reads every guest
	VMListUsed        Name = "vmlist.used"
	HAUnread          Name = "ha.unread"
	RevisionUnchecked Name = "revision.unchecked" // the floor in the cluster, or the policy, could not be read
	RootRejected      Name = "root.rejected"      // the previous trusted root stays in force
	EtcdSilent        Name = "etcd.silent"        // etcd cannot be asked who leads
	TracesFail        Name = "traces.fail"        // the collector does not take spans
	TracesSent        Name = "traces.sent"        // it does again
	OrderReleased     Name = "order.released"     // its step has begun
)

// Names of the journal's events that the history reads.
const (
	RecordConverged = "revision-converged"
	RecordRefused   = "revision-refused"
)

// PlannedStep is a state that is only remembered: PlanMade tells that a plan has a step which the plan before did not have.
const PlannedStep Name = "planned-step"
