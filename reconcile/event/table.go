package event

import (
	"log/slog"
	"time"
)

const (
	warn  = slog.LevelWarn
	fault = slog.LevelError
)

// How long a state lasts before it is told that often ends by itself.
const (
	twoPolls = 45 * time.Second // the remote is polled every 30 seconds, and every minute after a failure
	readings = time.Minute      // the cluster is read every 15 seconds
)

// table has a row for each event. It is never changed.
var table = []Row{
	{
		Name: RevisionAccepted, Line: "revision accepted", Fields: "revision signer", Default: true,
		Sentence: "Revision {revision} is in force, signed by {signer}.",
		Docs:     "A revision came into force.",
	},
	{
		Name: RevisionResumed, Line: "revision resumed", Fields: "revision",
		Sentence: "Revision {revision} was verified again and is in force.",
		Docs:     "The revision in force was verified after a start, or verifies again.",
	},
	{
		Name: RevisionUnverified, Level: warn, Line: "accepted revision does not verify", Fields: "error", Default: true,
		EndedBy:  []Name{RevisionResumed, RevisionAccepted},
		Sentence: "The revision in force does not verify any more, so nothing is written: {error}.",
		Docs:     "The revision in force does not verify any more, so nothing is written.",
	},
	{
		Name: RevisionRefused, Level: warn, Line: "revision refused", Fields: "commit reason error hint?", Record: RecordRefused, Default: true,
		End: RevisionWithdrawn, EndedBy: []Name{RevisionAccepted},
		Sentence: "Commit {commit} was refused ({reason}): {error}.",
		Docs:     "A head was refused.",
	},
	{
		Name: RevisionWaiting, Level: warn, Line: "revision waits", Fields: "commit reason error hint", Default: true,
		End: RevisionWithdrawn, EndedBy: []Name{RevisionAccepted, RevisionRefused}, For: twoPolls, Early: "revision waits for now",
		Sentence: "Commit {commit} waits ({reason}): {error}.",
		Docs:     "A head waits for [evidence](verify.md#evidence-for-the-online-mode), or for a [statement of another cluster](refusals.md#statement-missing). Polls look again.",
	},
	{
		Name: RevisionUnnamed, Level: warn, Line: "newer commits name targets that the repository does not have", Fields: "commit targets hint", Default: true,
		End: RevisionWithdrawn, EndedBy: []Name{RevisionAccepted},
		Sentence: "The commits up to {commit} name targets that the repository does not have, so no agent follows them: {targets}.",
		Docs:     "Newer commits name [targets](verify.md#several-clusters-on-one-branch) that no manifest of the kind `Cluster` in the repository has, so no agent follows them.",
	},
	{
		Name: RevisionWithdrawn, Line: "revision withdrawn", Fields: "commit reason?",
		Sentence: "Commit {commit} was not accepted ({reason|its targets are unknown}), and is not the head of the branch any more.",
		Docs:     "A head that was refused, or that waited, is not the head any more, and no other one was accepted.",
	},
	{
		Name: RevisionConverged, Line: "revision converged", Fields: "revision duration", Record: RecordConverged, Default: true,
		Sentence: "Every guest is in sync with revision {revision}, {duration} after its first fetch.",
		Docs:     "Every guest of the revision is in sync for the first time.",
	},

	{
		Name: PlanMade, Line: "plan made", Fields: "revision guests live restart disruptive destructive impossible duration",
		Docs: "The plan has a step that the plan before did not have.",
	},
	{
		Name: StepHeld, Line: "step held", Fields: "vmid guest op reason digest? hint? why", Act: true, Default: true,
		End: StepReleased, EndedBy: []Name{StepWithdrawn}, By: "vmid guest op",
		Sentence: "The step {op} of {guest} is held ({reason}): {why}.",
		Docs:     "The gate holds a step, for this [reason](plan.md). While nothing may be written at all, `writes.stopped` states it once for all steps.",
	},
	{
		Name: StepReleased, Line: "held step released", Fields: "vmid guest op reason digest?",
		Sentence: "The step {op} of {guest} was released.",
		Docs:     "A held step may run.",
	},
	{
		Name: StepWithdrawn, Line: "held step no longer planned", Fields: "vmid guest op reason digest?",
		Sentence: "The step {op} of {guest} was held and is no longer planned.",
		Docs:     "A held step is no longer planned.",
	},
	{
		Name: StepBegun, Line: "step begun", Fields: "vmid guest op step revision why",
		Sentence: "The step {op} of {guest} has begun: {why}.",
		Docs:     "The intent of a step was journaled, and its first call follows.",
	},
	{
		Name: StepEnded, Level: warn, Line: "step not done", Fine: "step done", Fields: "vmid guest op step result revision duration error? warnings?", LogFirst: true,
		Sentence: "The step {op} of {guest} has ended: {result}{: error}.",
		Docs:     "The outcome of a step is known.",
	},
	{
		Name: StepSettled, Line: "open step settled", Fields: "vmid op step revision result", LogFirst: true,
		Docs: "The outcome of a step is known that a crash or a lost reply left open.",
	},

	{
		Name: OrderAccepted, Line: "order accepted", Fields: "order operation signer commit vmid? guest?",
		Sentence: `The order {"order"} of {signer} was accepted.`,
		Docs:     "A signed order was accepted with its revision.",
	},
	{
		Name: OrderExecuted, Line: "order executed", Fields: "order operation signer commit vmid? guest? step upid? task_log?", Default: true,
		Sentence: `The order {"order"} of {signer} was executed.`,
		Docs:     "The step that the order releases, or asks for, was carried out, or its guard was weakened. The order is used up. `upid` and `task_log`, the last lines of the task, are those of a one-shot operation.",
	},
	{
		Name: OrderRefused, Level: warn, Line: "order has no effect", Fields: "order operation signer commit vmid? guest? why", Default: true,
		Sentence: `The order {"order"} of {signer} is refused: {why}.`,
		Docs:     "An order has no effect: an approval by a signer without the role, a one-shot operation that is not allowed, or an order in a commit that may give none, such as one that changes files. Such an approval is logged again after a restart, while it would be valid otherwise.",
	},
	{
		Name: OrderExpired, Level: warn, Line: "order has expired", Fields: "order operation signer commit vmid? guest? why", Default: true,
		Sentence: `The order {"order"} of {signer} has expired: {why}.`,
		Docs:     "An order ended unused.",
	},
	{
		Name: OrderUnmatched, Level: warn, Line: "approval matches no held step", Fields: "order signer commit why", Default: true,
		End: OrderMatched, EndedBy: []Name{OrderExecuted, OrderExpired}, By: "order commit", For: readings, Early: "approval matches no held step for now",
		Sentence: `The approval {"order"} of {signer} matches no held step: {why}.`,
		Docs:     "An approval has matched no held step for a minute. It still counts if such a step comes within seven days of its signature.",
	},
	{
		Name: OrderMatched, Line: "approval matches a step, or has ended", Fields: "order signer commit",
		Sentence: `The approval {"order"} of {signer} matches a step now, or has ended.`,
		Docs:     "Such an approval matches a step now, or has ended.",
	},
	{
		Name: OrderUnknown, Level: warn, Line: "order may have been executed, and is not executed again", Fields: "order operation signer commit vmid? guest? step", Default: true,
		Sentence: `The order {"order"} of {signer} may have been executed, and is not executed again.`,
		Docs:     "The outcome of the order's step cannot be determined. The order is used up.",
	},
	{
		Name: OrderFailed, Level: warn, Line: "order failed, and is not executed again", Fields: "order operation signer commit vmid? guest? step why upid? task_log?", Default: true,
		Sentence: `The order {"order"} of {signer} failed, and is not executed again: {why}.`,
		Docs:     "Proxmox refused the call of a one-shot operation, or its task failed. The order is used up.",
	},

	{
		Name: GuestDrifted, Line: "guest drifted", Fields: "vmid guest cause keys", Record: "drift-found", Default: true,
		End: GuestRepaired, EndedBy: []Name{GuestDestroyed, RevisionConverged}, By: "vmid",
		Sentence: "{guest} was changed in the cluster, and is not as its manifest wants it: {keys}.",
		Docs:     "A guest was changed in the cluster and is not as its manifest wants it any more. `cause` is `cluster`.",
	},
	{
		Name: GuestRepaired, Line: "drift of a guest has ended", Fields: "vmid guest cause", Record: "drift-repaired", Default: true,
		Sentence: "The drift of {guest} has ended.",
		Docs:     "The drift of a guest has ended: nothing that was changed in the cluster is left. A change may still be pending.",
	},
	{
		Name: GuestFailed, Level: warn, Line: "guest not brought in sync", Fields: "vmid guest op error", Default: true,
		End: GuestSucceeded, EndedBy: []Name{GuestDestroyed, RevisionConverged}, By: "vmid guest",
		Sentence: "{guest} could not be brought in sync, the step {op} failed{: error}.",
		Docs:     "A guest could not be brought in sync: the first failure in a row, or that of another operation.",
	},
	{
		Name: GuestSucceeded, Line: "guest no longer fails", Fields: "vmid guest op",
		Sentence: "What failed of {guest}, the step {op}, has succeeded or is not needed any more.",
		Docs:     "What failed of a guest has succeeded, or is not needed any more.",
	},
	{
		Name: GuestDestroyed, Line: "guest destroyed", Fields: "vmid guest? step? revision?", Default: true,
		Sentence: "The agent destroyed {guest}.",
		Docs:     "The agent destroyed a guest.",
	},
	{
		Name: GuestRecovered, Line: "guest claimed again", Fields: "vmid guest marker by",
		Sentence: "The agent owns {guest} again.",
		Docs:     "The agent owns a guest again whose record was lost.",
	},
	{
		Name: GuestPlaced, Line: "node chosen", Fields: "vmid guest node reason",
		Sentence: "{guest} will be created on {node}: {reason}.",
		Docs:     "The agent chose the node of a new guest with [`placement.auto`](manifests.md#where-a-guest-lives), before it is created.",
	},
	{
		Name: GuestRetried, Line: "guest is tried again", Fields: "vmid guest uid outcome",
		Docs: "A person asked for another try with [`gitops-agent retry`](cli.md#trying-guests-again-at-once). `outcome` names what was cleared and what remains.",
	},

	{
		Name: GuestHidden, Level: warn, Line: "guest hidden from the token", Fields: "vmid guest", Default: true,
		End: GuestVisible, By: "vmid", For: readings, Early: "guest hidden from the token for now",
		Sentence: "The token of the agent may not see {guest} any more.",
		Docs:     "The token may not see a guest any more.",
	},
	{
		Name: GuestVisible, Line: "guest visible again", Fields: "vmid guest",
		Sentence: "The token of the agent may see {guest} again.",
		Docs:     "The token may see the guest again.",
	},
	{
		Name: HAFailed, Level: warn, Line: "guest given up by the HA manager", Fields: "vmid guest node", Default: true,
		End: HARecovered, By: "vmid",
		Sentence: "The HA manager has given {guest} up on {node}: it stays as it is until a person repairs it.",
		Docs:     "The HA manager gave a guest up. Until a person repairs it, the guest stays as it is.",
	},
	{
		Name: HARecovered, Line: "guest taken up again by the HA manager", Fields: "vmid guest",
		Sentence: "The HA manager works on {guest} again.",
		Docs:     "The HA manager works on the guest again.",
	},
	{
		Name: TaskHangs, Level: warn, Line: "task hangs", Fields: "vmid guest upid error", Record: "task-hangs", Default: true,
		End: TaskEnded, By: "vmid upid",
		Sentence: "A task of {guest} runs for longer than it may ({upid}){: error}.",
		Docs:     "A task of a guest runs for longer than it may.",
	},
	{
		Name: TaskEnded, Line: "hanging task has ended", Fields: "vmid guest upid", Record: "task-ended",
		Sentence: "The task of {guest} that hung has ended ({upid}).",
		Docs:     "A task that hung has ended.",
	},
	{
		Name: ClusterLost, Level: warn, Line: "cluster cannot be worked with", Fields: "reason error", Default: true,
		End: ClusterReady, For: readings, Early: "cluster cannot be worked with for now",
		Sentence: "The cluster cannot be worked with ({reason}){: error}.",
		Docs:     "The cluster cannot be worked with, or for another reason than before; the values of `reason` are those of [`gitops_agent_proxmox_state`](metrics.md).",
	},
	{
		Name: ClusterReady, Line: "cluster can be worked with", Sentence: "The cluster can be worked with.",
		Docs: "The cluster can be worked with, also for the first time after a start.",
	},
	{
		Name: SourceLost, Level: warn, Line: "branch not fetched", Fields: "reason error", Default: true,
		End: SourceAnswers, For: twoPolls, Early: "branch not fetched for now",
		Sentence: "The branch cannot be fetched ({reason}){: error}.",
		Docs:     "The branch cannot be fetched, or for another reason than before; the values of `reason` are those of [`gitops_agent_source_state`](metrics.md).",
	},
	{
		Name: SourceAnswers, Line: "branch fetched", Fields: "remote", Sentence: "The branch can be fetched.",
		Docs: "The branch was fetched, also for the first time after a start.",
	},
	{
		Name: StateLost, Level: fault, Line: "state directory lost, nothing is written to the cluster", Fields: "error hint", Default: true,
		End:      StateRestored,
		Sentence: "The state directory was removed or replaced, so nothing is written to the cluster{: error}.",
		Docs:     "The state directory was removed or replaced, so nothing is written to the cluster.",
	},
	{
		Name: StateRestored, Line: "state directory is back, the cluster may be written to again", Record: "state-directory-back", Default: true,
		Sentence: "The state directory is back.",
		Docs:     "The state directory is back.",
	},
	{
		Name: JournalFailed, Level: fault, Line: "journal cannot be written, nothing is written to the cluster", Fields: "reason error", Default: true,
		End:      JournalFollowed,
		Sentence: "The journal takes no records ({reason}), so nothing is written to the cluster{: error}.",
		Docs:     "The journal takes no records, so nothing is written to the cluster. One in files needs a start of the agent, unless its file system was only read-only; one in etcd comes back by itself; the values of `reason` are those of [`gitops_agent_journal_state`](metrics.md).",
	},
	{
		Name: JournalFollowed, Line: "journal is followed, and takes records of its leader", Default: true, Sentence: "The journal can be used again.",
		Docs: "A journal that failed can be used again.",
	},
	{
		Name: ClockDiffers, Level: warn, Line: "clocks differ", Fields: "endpoint ahead_seconds", Default: true,
		End: ClockAgrees, By: "endpoint", For: readings, Early: "clocks differ for now",
		Sentence: "The clock of the node of {endpoint} is ahead of that of this host by {ahead_seconds} seconds.",
		Docs:     "The clock of a node and that of this host differ by at least 10 seconds. `ahead_seconds` is negative if the node's is behind.",
	},
	{
		Name: ClockAgrees, Line: "clocks agree again", Fields: "endpoint",
		Docs: "They agree again.",
	},
	{
		Name: RootExpired, Level: warn, Line: "trusted root expired, no new signature can be verified", Fields: "expired", Default: true,
		End:      RootRenewed,
		Sentence: "The trusted root has expired: no new signature can be verified. The revision in force stays.",
		Docs:     "The trusted root has expired: no new signature can be verified. The revision in force stays.",
	},
	{
		Name: RootRenewed, Line: "trusted root is valid again", Fields: "expires",
		Docs: "A newer trusted root is in force.",
	},

	{
		Name: RolloutAdvanced, Line: "rollout advances", Fields: "rollout revision state batch batches guests why? hint?",
		Sentence: "Rollout {rollout}: batch {batch} of {batches} is {state}.",
		Docs:     "A batch of a [rollout](rollouts.md) begins, or is ready.",
	},
	{
		Name: RolloutFailed, Level: warn, Line: "batch of a rollout failed, the next ones are held", Fields: "rollout revision state batch batches guests why hint", Default: true,
		EndedBy: []Name{RolloutAdvanced, RolloutEnded}, By: "rollout",
		Sentence: "Batch {batch} of {batches} of the rollout {rollout} failed, and the guests of later batches stay as they are: {why}.",
		Docs:     "A batch is not ready in time, so the next ones are held.",
	},
	{
		Name: RolloutHeld, Level: warn, Line: "rollout held", Fields: "rollout revision state batch batches guests why hint", Default: true,
		EndedBy: []Name{RolloutAdvanced, RolloutEnded, RolloutFailed}, By: "rollout",
		Sentence: "The rollout {rollout} is held: {why}.",
		Docs:     "The local state was lost, so nothing is released without an order.",
	},
	{
		Name: RolloutEnded, Line: "rollout ended", Fields: "rollout revision state batch batches guests why? hint?", Default: true,
		Sentence: "The rollout {rollout} is {state}.",
		Docs:     "A rollout is done or was aborted.",
	},

	{
		Name: GuardHeld, Level: warn, Line: "weaker guard held", Fields: "change guests digest", Default: true,
		End: GuardWithdrawn, EndedBy: []Name{GuardWeakened}, By: "digest",
		Sentence: "Manifests weaken a guard, and approvals are missing: {change}.",
		Docs:     "Manifests weaken a guard, and approvals are missing.",
	},
	{
		Name: GuardWithdrawn, Line: "weaker guard no longer wanted", Fields: "change digest",
		Docs: "The manifests no longer weaken the guard.",
	},
	{
		Name: GuardWeakened, Line: "guard weakened as approved", Fields: "change guests digest",
		Sentence: "A weaker guard came into force, as approved: {change}.",
		Docs:     "A weaker guard came into force, as approved.",
	},

	{
		Name: WritesStopped, Level: warn, Line: "writing stopped", Fields: "reason why", Default: true,
		End: WritesAllowed, For: readings, Early: "writing stopped for now", Passing: []string{"cluster", "unchecked", "unclaimed"},
		Sentence: "Nothing is written to the cluster any more ({reason}): {why}.",
		Docs:     "Nothing is written to the cluster any more, or for another reason than before.",
	},
	{
		Name: WritesAllowed, Line: "writing allowed", Fields: "revision", Default: true, Sentence: "The cluster may be written to.",
		Docs: "The cluster may be written to.",
	},
	{
		Name: AgentPaused, Level: warn, Line: "paused, nothing is written to the cluster", Fields: "since until uid reason problem", Record: "paused", Default: true,
		End:      AgentResumed,
		Sentence: "The agent is paused: {reason|no reason was given}.",
		Docs:     "A person paused the agent, or changed the pause.",
	},
	{
		Name: AgentResumed, Line: "resumed, the cluster may be written to again", Record: "resumed", Default: true,
		Sentence: "The pause of the agent has ended.",
		Docs:     "The pause has ended.",
	},
	{
		Name: AgentClaimed, Line: "cluster claimed", Fields: "writer nonce",
		Docs: "This process claimed the cluster.",
	},
	{
		Name: AgentSuperseded, Level: fault, Line: "superseded by another agent, nothing is written to the cluster", Fields: "writer nonce own", Record: "superseded", Default: true,
		EndedBy:  []Name{AgentClaimed},
		Sentence: "Another agent claimed the cluster, so this one writes nothing any more.",
		Docs:     "Another agent claimed the cluster.",
	},

	{
		Name: ConfigReloaded, Line: "config reloaded", Fields: "changed", Sentence: "The config is in force{: changed}.",
		Docs: "A config came into force [without a restart](cli.md#reloading-the-config). `changed` lists the fields that differ.",
	},
	{
		Name: ConfigRefused, Level: warn, Line: "config not reloaded, the previous one stays in force", Fields: "error", Default: true,
		EndedBy:  []Name{ConfigReloaded},
		Sentence: "The new config was refused, and the previous one stays in force{: error}.",
		Docs:     "A config could not come into force, and the previous one stays in force.",
	},

	{Name: VMListUnused, Level: warn, Line: "vmlist file not used, the sweep reads every guest", Fields: "path reason", End: VMListUsed, Plain: true},
	{Name: VMListUsed, Line: "vmlist file used again", Fields: "path", Plain: true},
	{Name: HAUnread, Level: warn, Line: "HA resources not read", Fields: "error", Plain: true},
	{Name: RevisionUnchecked, Level: warn, Line: "accepted revision not checked, nothing is written to the cluster", Fields: "error", Plain: true},
	{Name: RootRejected, Level: warn, Line: "trusted root rejected, the previous one stays in force", Fields: "error", Plain: true},
	{Name: EtcdSilent, Level: warn, Line: "etcd cannot be asked who leads", Fields: "error", Plain: true},
	{Name: TracesFail, Level: warn, Line: "traces not exported", Fields: "error", End: TracesSent, Plain: true},
	{Name: TracesSent, Line: "traces exported again", Plain: true},
	{Name: OrderReleased, Plain: true},
}
