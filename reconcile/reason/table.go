package reason

import "gitops-agent/reconcile/event"

// The notices of pages about held steps. Reasons with one notice are counted together.
var (
	approvalNotice = Notice{"1 guest waits for a signed approval", "%d guests wait for a signed approval"}
	guardNotice    = Notice{"The manifest of 1 guest weakens a guard, which waits for a signed approval", "The manifests of %d guests weaken guards, which wait for signed approvals"}
	guardedNotice  = Notice{"1 guest is not destroyed because of a guard", "%d guests are not destroyed because of a guard"}
	recreateNotice = Notice{"1 guest is gone and not created again because of its lifecycle", "%d guests are gone and not created again because of their lifecycle"}
	volumeNotice   = Notice{"1 guest waits because of a volume", "%d guests wait because of a volume"}
	scopeNotice    = Notice{"1 guest waits because its signer may not touch what its manifest names", "%d guests wait because their signers may not touch what their manifests name"}
	policyNotice   = Notice{"1 guest waits because of a policy", "%d guests wait because of a policy"}
)

// rows is the table. Each reason has one row.
var rows = []Row{
	{
		Name: Approval, Held: TypeHeld, Act: Approve, Severity: SeverityWarning, Event: event.StepHeld, Runbook: "GitopsAgentApprovalWaiting", Notice: approvalNotice,
		Sentence: "the step waits for the signed approvals of people",
		Remedies: []Remedy{ApproveDigest, AfterAdoption},
		Docs:     "Approvals count people by the name in `trust.signers`, and an approval that does not count is listed with its reason. \"the guest is protected in Proxmox\": see [trust.md](trust.md#protection-in-proxmox)",
	},
	{
		Name: Awaits, Types: []Type{TypeBlocked}, Act: EditManifest, Severity: SeverityWarning,
		Sentence: "an object cannot be made, or has no effect, before something else exists, such as the guest of a replication job, or the pool of a backup job",
		Remedies: []Remedy{AddNamed},
	},
	{
		Name: CannotCreate, Types: []Type{TypeBlocked}, Act: EditManifest, Severity: SeverityWarning,
		Sentence: "the create call cannot carry some fields of the manifest",
		Remedies: []Remedy{ChangeTemplate, LeaveOutAtCreation, CorrectField},
	},
	{
		Name: CheckRefused, Types: []Type{TypeWarned}, Act: FixHost, Severity: SeverityWarning,
		Sentence: "`checks.allow` in the config of the agent's host does not allow a check in `spec.health` of the guest; guests that depend on it wait",
		Remedies: []Remedy{AllowCheck},
	},
	{
		Name: Copied, Types: []Type{TypeWarned}, Act: FixCluster, Severity: SeverityWarning,
		Sentence: "another guest has the guest's marker, since it was cloned from it",
		Remedies: []Remedy{RemoveCopiedTag},
	},
	{
		Name: Denied, Types: []Type{TypeFailed}, Act: FixCluster, Severity: SeverityError, Event: event.GuestFailed,
		Sentence: "the token lacks a privilege",
		Remedies: []Remedy{CheckToken, GrantPath, FreeTags},
	},
	{
		Name: DestroyDenied, Held: TypeHeld, Act: EditManifest, Severity: SeverityWarning, Event: event.StepHeld, Notice: guardedNotice,
		Sentence: "the last manifest of the guest or object has `lifecycle.destroy: deny`; an approval does not release it",
		Remedies: []Remedy{AllowDestroy, RemoveByHand},
	},
	{
		Name: DestroyLimit, Held: TypeHeld, Act: Wait, Severity: SeverityWarning, Event: event.StepHeld, Runbook: "GitopsAgentDestroyLimit", Notice: guardedNotice,
		Sentence: "too many calls to destroy a guest were sent in 24 hours",
		Remedies: []Remedy{RaiseDestroyLimit},
	},
	{
		Name: DifferentGuest, Types: []Type{TypeIdentityConflict}, Act: EditManifest, Severity: SeverityError,
		Sentence: "the guest under the vmid is not the recorded one",
		Remedies: []Remedy{RestoreIdentity, RemoveStranger, ClaimLost},
	},
	{
		Name: Differs, Types: []Type{TypeDrifted}, Act: Wait, Severity: SeverityWarning, Event: event.GuestDrifted,
		Sentence: "the guest differs from its manifest",
	},
	{
		Name: EmptyDesired, Held: TypeHeld, Act: EditManifest, Severity: SeverityWarning, Event: event.StepHeld, Notice: guardedNotice,
		Sentence: "no manifest names any guest, so nothing is destroyed",
		Remedies: []Remedy{CheckPaths},
		Docs:     "For an object of another kind, or a former file of an Image, a guest, an Image or another object is enough. See [manifests.md](manifests.md#an-empty-repository)",
	},
	{
		Name: Error, Types: []Type{TypeFailed}, Act: FixCluster, Severity: SeverityError, Event: event.GuestFailed,
		Sentence: "a step failed, or the agent could not work on the guest",
		Remedies: []Remedy{CorrectRefused},
		Docs:     "The condition of a failed step has the name of its operation, such as `config`, in place of this reason",
	},
	{
		Name: FileInUse, Types: []Type{TypeWarned}, Act: Wait, Severity: SeverityWarning,
		Sentence: "a former file of an Image with `prune: true` stays, since a guest uses it or a manifest names it",
		Remedies: []Remedy{DeletedLater},
		Docs:     "See [manifests.md](manifests.md#files-that-are-deleted)",
	},
	{
		Name: FileOnOneNode, Types: []Type{TypeWarned}, Act: EditManifest, Severity: SeverityWarning,
		Sentence: "the manifest of an Image lists no `nodes`, and each node has its storage for itself: only the node that the message names has the file, and guests on other nodes wait",
		Remedies: []Remedy{ListNodes},
	},
	{
		Name: FirewallIneffective, Types: []Type{TypeWarned}, Act: EditManifest, Severity: SeverityWarning,
		Sentence: "the firewall of the guest, or a part of it, has no effect: the datacenter's firewall or that of a network card is off, or a rule is wrong",
		Remedies: []Remedy{EnableFirewall},
		Docs:     "See [firewall.md](firewall.md)",
	},
	{
		Name: Flapping, Types: []Type{TypeBlocked}, Act: FixCluster, Severity: SeverityWarning, Runbook: "GitopsAgentGuestFlapping",
		Sentence: "repairs of the guest or object are undone again and again, so the agent repairs it less often",
		Remedies: []Remedy{FindGuestEditor, FindFileEditor, FindObjectEditor},
	},
	{
		Name: ForeignFile, Types: []Type{TypeUnknown}, Act: FixCluster, Severity: SeverityInfo,
		Sentence: "the agent did not download the file of an Image, or its size has changed since; nothing is created from it, and it is not deleted",
		Remedies: []Remedy{RemoveForeignFile, RemoveChangedFile, RemoveChangedFormer},
	},
	{
		Name: ForeignMarker, Types: []Type{TypeIdentityConflict}, Act: FixCluster, Severity: SeverityError,
		Sentence: "the guest or object to be adopted has the marker of another owner",
		Remedies: []Remedy{RemoveForeignTag, RemoveForeignWord},
	},
	{
		Name: Guard, Held: TypeHeld, Act: Approve, Severity: SeverityWarning, Event: event.GuardHeld, Runbook: "GitopsAgentApprovalWaiting", Notice: guardNotice,
		Sentence: "the manifest asks for a weaker guard, and the step, `weaken`, puts it into force",
		Remedies: []Remedy{ApproveDigest, AfterAdoption},
		Docs:     "It changes nothing in the cluster, other changes of the revision apply without it, and the guest counts as in sync; see [trust.md](trust.md#guards-of-manifests). One line that weakens a guard of several guests is one step with one digest, shown with each of them. Reverting the line drops the step. A step that takes a guest with `backup: required`, or one of its volumes, out of its backups, or a change of the job that backs it up less, has the same reason and stays undone until then, except for the repair of an edit by hand ([backup.md](backup.md#guests-that-must-be-backed-up))",
	},
	{
		Name: GuardMinimum, Types: []Type{TypeWarned}, Act: FixHost, Severity: SeverityWarning,
		Sentence: "the manifest asks for a weaker guard than `trust.guards` of the host allows; the minimum is in effect",
		Remedies: []Remedy{HostMinimum},
	},
	{
		Name: Hidden, Types: []Type{TypeBlocked}, Act: FixCluster, Severity: SeverityWarning, Event: event.GuestHidden,
		Sentence: "a guest that the token may not see has the vmid",
		Remedies: []Remedy{GrantAudit},
	},
	{
		Name: Impossible, Types: []Type{TypeBlocked}, Act: EditManifest, Severity: SeverityWarning,
		Sentence: "a field cannot be changed on an existing guest or object",
		Remedies: []Remedy{ChangeByHand, NewID, SetComment, SeveralCommits, UpgradeNodes, DisableByRemoval, AnotherID, LeaveRule},
	},
	{
		Name: InUse, Types: []Type{TypeBlocked}, Act: FixCluster, Severity: SeverityWarning,
		Sentence: "the object is not removed: something is in it, or uses it, as the text says",
		Remedies: []Remedy{RemoveUsers, RemoveReplication},
		Docs:     "If only the check before the removal shows that, the agent looks again three times within a minute, then every half an hour, and at once after a step of its own on a guest or the firewall and with the next revision. A guest with a replication job is not stopped and not destroyed either: Proxmox would refuse the destroy",
	},
	{
		Name: Invalid, Types: []Type{TypeBlocked}, Act: EditManifest, Severity: SeverityWarning,
		Sentence: "this release refuses the manifest, which an older one accepted: the guest or Image is left alone until the field is corrected",
		Remedies: []Remedy{CorrectField, Decompress},
	},
	{
		Name: OtherKind, Types: []Type{TypeIdentityConflict}, Act: EditManifest, Severity: SeverityError,
		Sentence: "the guest under the vmid is of another kind",
		Remedies: []Remedy{OtherVMIDOrKind},
	},
	{
		Name: Leaving, Types: []Type{TypeBlocked}, Act: Wait, Severity: SeverityWarning,
		Sentence: "Proxmox is removing the object, which takes until a node has done its part",
	},
	{
		Name: Locked, Types: []Type{TypeBlocked}, Act: Wait, Severity: SeverityWarning,
		Sentence: "a task or a backup holds the guest",
		Remedies: []Remedy{WaitForLock},
	},
	{
		Name: MayExist, Types: []Type{TypeBlocked}, Act: EditManifest, Severity: SeverityWarning,
		Sentence: "the manifest names no vmid, and the guest may exist already",
		Remedies: []Remedy{MeantRenamed, MeantMarked, MeantUnnamed, MeantUnmarked, MeantOwned, MeantUUID},
	},
	{
		Name: NeedsRoot, Types: []Type{TypeWarned}, Act: FixCluster, Severity: SeverityWarning,
		Sentence: "the guest lacks a setting that only root@pam may make",
		Remedies: []Remedy{SetAsRoot},
	},
	{
		Name: NoBackup, Types: []Type{TypeWarned}, Act: EditManifest, Severity: SeverityWarning,
		Sentence: "the manifest requires backups, and no enabled backup job covers the guest, or only one that was edited so that it backs up less, or no backup contains a volume for which the manifest does not say `backup: false`; or the backup job has no next time",
		Remedies: []Remedy{GrantJobAudit, ChangeSchedule, AddToJob, UndoJobEdit, PutInBackups},
		Docs:     "See [backup.md](backup.md#guests-that-must-be-backed-up)",
	},
	{
		Name: NoNode, Types: []Type{TypeBlocked}, Act: EditManifest, Severity: SeverityWarning,
		Sentence: "no node was chosen yet to create the guest on: it fits on none, or the agent may not work on it",
		Remedies: []Remedy{MakeRoom},
	},
	{
		Name: NoRevision, Types: []Type{TypeUnknown}, Act: Wait, Severity: SeverityInfo,
		Sentence: "no revision is in force, so the wanted state is unknown",
	},
	{
		Name: NoSecret, Types: []Type{TypeBlocked}, Act: FixHost, Severity: SeverityWarning,
		Sentence: "a secret is missing without which the guest is not created or not started",
	},
	{
		Name: NoSource, Types: []Type{TypeBlocked}, Act: EditManifest, Severity: SeverityWarning,
		Sentence: "the guest does not exist, and the manifest does not say how to create it",
		Remedies: []Remedy{CorrectSource, AddSource},
	},
	{
		Name: NoVMID, Types: []Type{TypeBlocked}, Act: EditManifest, Severity: SeverityWarning,
		Sentence: "the agent has no free vmid to assign",
		Remedies: []Remedy{WidenVMIDs, AwaitVMID},
	},
	{
		Name: NodeMaintenance, Held: TypeHeld, Act: Wait, Severity: SeverityWarning, Event: event.StepHeld,
		Sentence: "the node is in maintenance, and gets no creates, starts, restarts or moves",
		Remedies: []Remedy{EndMaintenance},
	},
	{
		Name: NodeOffline, Types: []Type{TypeUnknown}, Held: TypeHeld, Act: FixCluster, Severity: SeverityWarning, Event: event.StepHeld, Runbook: "GitopsAgentNodeUnknown",
		Sentence: "the guest is on a node that is offline, or the step needs one; the guest is not created on another node",
		Remedies: []Remedy{StartNode, StartTarget},
	},
	{
		Name: NotInHA, Types: []Type{TypeBlocked}, Act: EditManifest, Severity: SeverityWarning,
		Sentence: "the HA manager does not manage a guest that an `AffinityRule` names; the rule waits until it does",
		Remedies: []Remedy{SetHA},
	},
	{
		Name: NotManaged, Types: []Type{TypeIdentityConflict}, Act: EditManifest, Severity: SeverityError,
		Sentence: "the guest or object exists, and the manifest does not ask to adopt it",
		Remedies: []Remedy{Adopt, AdoptMarked, AdoptObject, RestoreObjectMarker},
	},
	{
		Name: NotObserved, Types: []Type{TypeUnknown}, Act: FixCluster, Severity: SeverityInfo,
		Sentence: "the guest, or a guest that may use its volumes, was not read",
		Remedies: []Remedy{NameNode, AwaitDeletion, EndDeletions},
	},
	{
		Name: NotReady, Held: TypeWaitsFor, Act: FixCluster, Severity: SeverityInfo, Event: event.StepHeld,
		Sentence: "a guest on which this one depends has converged, and does not pass the checks in `spec.health` of its manifest",
		Remedies: []Remedy{LookAtChecks},
		Docs:     "The text names the check and what it found; [manifests.md](manifests.md#order) describes the checks. The step does not count as held",
	},
	{
		Name: ObserveMode, Held: TypeHeld, Act: EditManifest, Severity: SeverityWarning, Event: event.StepHeld,
		Sentence: "the manifest has `mode: observe`",
		Remedies: []Remedy{Enforce},
		Docs:     "For an owned guest this waits for an approval, see `guard`",
	},
	{
		Name: OtherNode, Types: []Type{TypeWarned}, Act: EditManifest, Severity: SeverityWarning,
		Sentence: "the guest is on another node than its manifest names, and the manifest does not ask to move it; or a replication job copies to another node since its guest was moved, or copies nothing since the guest is on the target",
		Remedies: []Remedy{CorrectNode, MoveGuest, AwaitReturn},
	},
	{
		Name: Overridden, Types: []Type{TypeWarned}, Act: Wait, Severity: SeverityWarning,
		Sentence: "an order overrides `state` for a time; the message has its end",
		Remedies: []Remedy{EndOverride},
		Docs:     "See [orders.md](orders.md)",
	},
	{
		Name: OwnGuest, Held: TypeHeld, Act: FixCluster, Severity: SeverityWarning, Event: event.StepHeld,
		Sentence: "the step would stop, restart, move or destroy the guest in which the agent runs; an approval does not release it",
		Remedies: []Remedy{ByHand},
	},
	{
		Name: PartlyCreated, Types: []Type{TypeBlocked}, Act: FixCluster, Severity: SeverityWarning,
		Sentence: "another call is still creating the guest, or left it incomplete",
		Remedies: []Remedy{Unlock},
	},
	{
		Name: PendingRestart, Types: []Type{TypePendingRestart}, Act: Wait, Severity: SeverityWarning,
		Sentence: "changes are written and take effect at the next stop and start",
		Remedies: []Remedy{RestartByHand, PolicyRestarts},
	},
	{
		Name: Policy, Types: []Type{TypeWarned}, Held: TypeHeld, Act: EditManifest, Severity: SeverityWarning, Event: event.StepHeld, Notice: policyNotice,
		Sentence: "a policy denies the step, requires approvals that it does not have, or warns, which holds nothing",
		Remedies: []Remedy{CorrectDenied, ApproveDigest, AfterAdoption, AfterVMID, HoldsNothing},
		Docs:     "The text names the policy, and the file of one of the repository. A policy that requires approvals is released as for `approval`. See [policies.md](policies.md)",
	},
	{
		Name: RecreateDenied, Held: TypeHeld, Act: EditManifest, Severity: SeverityWarning, Event: event.StepHeld, Notice: recreateNotice,
		Sentence: "the guest is gone, and its manifest has `lifecycle.recreate: deny`; an approval does not release it",
		Remedies: []Remedy{RestoreGuest},
	},
	{
		Name: Removed, Types: []Type{TypeOrphaned}, Act: Approve, Severity: SeverityWarning,
		Sentence: "no manifest names the guest or object any more",
		Remedies: []Remedy{NameAgain},
	},
	{
		Name: Rollout, Held: TypeHeld, Act: Wait, Severity: SeverityWarning, Event: event.StepHeld,
		Sentence: "the change reaches other guests first; an approval does not release it",
		Remedies: []Remedy{PromoteFailed, PromoteHeld, PromotePaused, PushAgain},
		Docs:     "[rollouts.md](rollouts.md) says what continues a rollout that has failed, pauses or is held",
	},
	{
		Name: RootOnly, Types: []Type{TypeFailed}, Act: EditManifest, Severity: SeverityError, Event: event.GuestFailed,
		Sentence: "Proxmox allows the change to root@pam only, and to no API token",
		Remedies: []Remedy{LeaveOutRootKey},
	},
	{
		Name: Scope, Held: TypeHeld, Act: FixHost, Severity: SeverityWarning, Event: event.StepHeld, Notice: scopeNotice,
		Sentence: "the signer who wrote the field may not touch what the step touches; an approval does not release it",
		Remedies: []Remedy{OtherSigner, ExtendSigner, ExtendOrderSigner},
		Docs:     "See [trust.md](trust.md#scopes)",
	},
	{
		Name: Secret, Types: []Type{TypeBlocked}, Act: FixHost, Severity: SeverityWarning,
		Sentence: "a secret cannot be given to the guest",
	},
	{
		Name: SelectsNone, Types: []Type{TypeBlocked}, Act: EditManifest, Severity: SeverityWarning,
		Sentence: "no guest has the labels that the manifest of an object selects",
		Remedies: []Remedy{GiveLabels},
	},
	{
		Name: ServerDenied, Types: []Type{TypeBlocked}, Act: FixHost, Severity: SeverityWarning,
		Sentence: "the config of the agent's host does not allow downloads from the server of an Image",
		Remedies: []Remedy{AllowServer},
	},
	{
		Name: SnapshotFailed, Types: []Type{TypeWarned}, Act: FixCluster, Severity: SeverityWarning,
		Sentence: "a snapshot of `spec.snapshots` was not taken, or one could not be deleted; the message has the reason",
		Remedies: []Remedy{RemoveSnapshotCause},
		Docs:     "See [snapshots.md](snapshots.md)",
	},
	{
		Name: SnapshotsLeft, Types: []Type{TypeLeftover}, Act: FixCluster, Severity: SeverityInfo,
		Sentence: "the agent has taken snapshots of the guest, and its manifest has no `spec.snapshots` any more; they stay",
		Remedies: []Remedy{DeleteSnapshots},
		Docs:     "See [snapshots.md](snapshots.md)",
	},
	{
		Name: Suspended, Held: TypeSuspended, Act: EditManifest, Severity: SeverityInfo, Event: event.StepHeld, Runbook: "GitopsAgentSuspendedTooLong",
		Sentence: "`spec.suspend` suspends the guest",
		Remedies: []Remedy{RemoveSuspend},
		Docs:     "This waits for an approval, see `guard`",
	},
	{
		Name: TaskHangs, Types: []Type{TypeBlocked}, Held: TypeHeld, Act: FixCluster, Severity: SeverityWarning, Event: event.TaskHangs, Runbook: "GitopsAgentTaskHanging",
		Sentence: "a task of the guest still runs after the time that its operation may take; or two tasks on the node have run longer than `limits.task_time` of the config",
		Remedies: []Remedy{StopTask, StopNodeTasks},
	},
	{
		Name: UnusedVolumes, Types: []Type{TypeLeftover}, Act: FixCluster, Severity: SeverityInfo,
		Sentence: "volumes belong to the guest that no slot uses",
		Remedies: []Remedy{AttachOrRemove},
	},
	{
		Name: VolumeInUse, Types: []Type{TypeBlocked}, Held: TypeBlocked, Act: FixCluster, Severity: SeverityWarning, Event: event.StepHeld, Notice: volumeNotice,
		Sentence: "another guest uses a volume that the plan would destroy or attach; the text names both",
		Remedies: []Remedy{FreeVolume, DetachVolume, ReleaseVolume, ReassignVolume},
	},
	{
		Name: VolumeLost, Types: []Type{TypeBlocked}, Act: FixCluster, Severity: SeverityWarning,
		Sentence: "an empty slot held a volume that cannot be attached again",
		Remedies: []Remedy{AttachLost},
	},
	{
		Name: VolumeUsersUnknown, Held: TypeBlocked, Act: FixCluster, Severity: SeverityWarning, Event: event.StepHeld, Notice: volumeNotice,
		Sentence: "a guest that may use a volume of the step could not be read",
		Docs:     "The text has the remedy: `VM.Audit` on `/vms`, an offline node, a guest or storage that cannot be read, or a volume that does not exist",
	},
	{
		Name: WaitsFor, Held: TypeWaitsFor, Act: Wait, Severity: SeverityInfo, Event: event.StepHeld,
		Sentence: "other guests of the plan come first; the step does not count as held",
	},
	{
		Name: Warnings, Types: []Type{TypeWarned}, Act: Wait, Severity: SeverityWarning,
		Sentence: "a task of the last work on the guest ended with warnings",
		Remedies: []Remedy{InSpite},
	},
	{
		Name: Window, Held: TypeHeld, Act: Wait, Severity: SeverityWarning, Event: event.StepHeld,
		Sentence: "the guest may restart only within `lifecycle.window`",
		Remedies: []Remedy{CorrectWindow},
	},
	{
		Name: WritesStopped, Held: TypeHeld, Act: FixHost, Severity: SeverityWarning, Event: event.WritesStopped,
		Sentence: "the agent writes nothing now; the text has the condition: quorum, the journal, a revision that verifies, the claim of the cluster",
	},
}
