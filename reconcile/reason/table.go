package reason

import "gitops-agent/reconcile/event"

// The notices of pages about held steps. Reasons with one notice are counted together.
var (
	approvalNotice   = Notice{"1 guest waits for a signed approval", "%d guests wait for a signed approval"}
	guardNotice      = Notice{"The manifest of 1 guest weakens a guard, which waits for a signed approval", "The manifests of %d guests weaken guards, which wait for signed approvals"}
	guardedNotice    = Notice{"1 guest is not destroyed because of a guard", "%d guests are not destroyed because of a guard"}
	forbiddenNotice  = Notice{"1 guest stays as it is because its manifest forbids the step", "%d guests stay as they are because their manifests forbid the step"}
	usedNotice       = Notice{"1 guest waits because something else uses what the step needs", "%d guests wait because something else uses what the steps need"}
	firstStartNotice = Notice{"1 new guest is not started before root has given it its mounts and devices", "%d new guests are not started before root has given them their mounts and devices"}
	scopeNotice      = Notice{"1 guest waits because its signer may not touch what its manifest names", "%d guests wait because their signers may not touch what their manifests name"}
	policyNotice     = Notice{"1 guest waits because of a policy", "%d guests wait because of a policy"}
)

// rows is the table. Each reason has one row.
var rows = []Row{
	{
		Name: Approval, Held: TypeHeld, Act: Approve, Severity: SeverityWarning, Events: []event.Name{event.StepHeld}, Runbook: "GitopsAgentApprovalWaiting", Notice: approvalNotice,
		Sentence: "the step waits for the signed approvals of people",
		Remedies: []Remedy{ApproveDigest, AfterAdoption},
		Docs:     "Approvals count people by the name in `trust.signers`, and an approval that does not count is listed with its reason. \"the guest is protected in Proxmox\": see [trust.md](trust.md#protection-in-proxmox)",
	},
	{
		Name: Awaits, Types: []Type{TypeBlocked}, Act: EditManifest, Severity: SeverityWarning,
		Sentence: "an object cannot be made, or has no effect, before what its manifest names exists: the guest of a replication job, the pool of a backup job, a guest that has the labels, or a guest of an `AffinityRule` that the HA manager manages",
		Remedies: []Remedy{AddNamed, SetHA, GiveLabels},
	},
	{
		Name: Copied, Types: []Type{TypeWarned}, Act: FixCluster, Severity: SeverityWarning,
		Sentence: "another guest has the guest's marker, since it was cloned from it",
		Remedies: []Remedy{RemoveCopiedTag},
	},
	{
		Name: Denied, Types: []Type{TypeFailed, TypeBlocked}, Act: FixCluster, Severity: SeverityWarning, Events: []event.Name{event.GuestFailed, event.GuestHidden},
		Sentence: "the token lacks a privilege: Proxmox refused a call, or a guest that the token may not see has the vmid",
		Remedies: []Remedy{CheckToken, GrantPath, FreeTags, GrantAudit},
	},
	{
		Name: DestroyLimit, Held: TypeHeld, Act: EditManifest, Severity: SeverityWarning, Events: []event.Name{event.StepHeld}, Runbook: "GitopsAgentDestroyLimit", Notice: guardedNotice,
		Sentence: "too much would be destroyed: too many calls to destroy a guest were sent in 24 hours, which ends by itself, or no manifest names any guest",
		Remedies: []Remedy{RaiseDestroyLimit, CheckPaths},
		Docs:     "For an object of another kind, or a former file of an Image, a manifest of a guest, an Image or another object is enough. See [manifests.md](manifests.md#an-empty-repository)",
	},
	{
		Name: DifferentGuest, Types: []Type{TypeIdentityConflict}, Act: EditManifest, Severity: SeverityError,
		Sentence: "the guest under the vmid is not the recorded one, or is of another kind",
		Remedies: []Remedy{RestoreIdentity, RemoveStranger, ClaimLost, OtherVMIDOrKind},
	},
	{
		Name: Differs, Types: []Type{TypeDrifted}, Act: Wait, Severity: SeverityWarning, Events: []event.Name{event.GuestDrifted},
		Sentence: "the guest was as its manifest wants it, and was changed in the cluster since",
	},
	{
		Name: Error, Types: []Type{TypeFailed, TypeWarned}, Act: FixCluster, Severity: SeverityWarning, Events: []event.Name{event.GuestFailed},
		Sentence: "a step or a snapshot of `spec.snapshots` failed, or the agent could not work on the guest; the text has the reason",
		Remedies: []Remedy{CorrectRefused, RemoveSnapshotCause},
		Docs:     "The condition of a failed step has the name of its operation, such as `config`, in place of this reason. See [snapshots.md](snapshots.md)",
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
		Name: Guard, Held: TypeHeld, Act: Approve, Severity: SeverityWarning, Events: []event.Name{event.GuardHeld}, Runbook: "GitopsAgentApprovalWaiting", Notice: guardNotice,
		Sentence: "the manifest asks for a weaker guard, and the step, `weaken`, puts it into force",
		Remedies: []Remedy{ApproveDigest, AfterAdoption},
		Docs:     "It changes nothing in the cluster, other changes of the revision apply without it, and the guest counts as in sync; see [trust.md](trust.md#guards-of-manifests). One line that weakens a guard of several guests is one step with one digest, shown with each of them. Reverting the line drops the step. A step that takes a guest with `backup: required`, or one of its volumes, out of its backups, or a change of the job that backs it up less, has the same reason and stays undone until then, except for the repair of an edit by hand ([backup.md](backup.md#guests-that-must-be-backed-up))",
	},
	{
		Name: HAError, Types: []Type{TypeBlocked}, Held: TypeHeld, Act: FixCluster, Severity: SeverityError, Events: []event.Name{event.HAFailed, event.StepHeld}, Runbook: "GitopsAgentGuestFailed",
		Sentence: "the HA manager has given the guest up: its state is `error`, so the guest stays as it is, which may be down, until a person sets its entry to `disabled`",
		Remedies: []Remedy{RepairHA},
		Docs:     "While it lasts, `disabled` in the entry is no drift, and the agent neither starts nor moves the guest",
	},
	{
		Name: Impossible, Types: []Type{TypeBlocked, TypeWarned}, Held: TypeBlocked, Act: EditManifest, Severity: SeverityWarning, Events: []event.Name{event.StepHeld},
		Sentence: "what the manifest asks for cannot be done: a field cannot be changed on an existing guest or object, or is used at creation only and says something else now; the guest does not exist, and the manifest does not say how to create it, or the create call cannot carry a field; no vmid is free, or the guest fits on no node; or this release refuses a manifest that an older one accepted",
		Remedies: []Remedy{ChangeByHand, NewID, SetComment, SeveralCommits, UpgradeNodes, DisableByRemoval, AnotherID, LeaveRule, ChangeTemplate, CloneReaches, LeaveOutAtCreation, CorrectField, CorrectSource, AddSource, LargerNode, FreeStorage, MakeRoom, WidenVMIDs, Decompress, CreateAgain, SetInGuest},
		Docs:     "Until it is corrected, nothing is written for a manifest that this release refuses",
	},
	{
		Name: InUse, Types: []Type{TypeBlocked, TypeWarned}, Held: TypeBlocked, Act: FixCluster, Severity: SeverityWarning, Events: []event.Name{event.StepHeld}, Notice: usedNotice,
		Sentence: "something else uses what the plan would remove, destroy or attach, as the text says: an object, the volume of another guest, a former file of an Image with `prune: true`, or a guest with a replication job, which Proxmox does not destroy",
		Remedies: []Remedy{RemoveUsers, RemoveReplication, FreeVolume, DetachVolume, AttachLater, ReleaseVolume, ReassignVolume, DeletedLater},
		Docs:     "If only the check before the removal of an object shows that, the agent looks again three times within a minute, then every half an hour, and at once after a step of its own on a guest or the firewall and with the next revision. See [manifests.md](manifests.md#files-that-are-deleted)",
	},
	{
		Name: LeftOver, Types: []Type{TypeOrphaned, TypeLeftover}, Act: EditManifest, Severity: SeverityInfo,
		Sentence: "something is in the cluster that the manifests do not name any more: a guest or object, a volume that no slot uses, or snapshots of a schedule; the agent removes a guest or object as `lifecycle.destroy` says, and leaves volumes and snapshots",
		Remedies: []Remedy{NameAgain, AttachOrRemove, DeleteSnapshots},
		Docs:     "See [snapshots.md](snapshots.md)",
	},
	{
		Name: Locked, Types: []Type{TypeBlocked}, Act: Wait, Severity: SeverityWarning,
		Sentence: "Proxmox is at work on the guest or object: a task or a backup holds the guest, another call is still creating it or left it incomplete, or an object is being removed; or what locked the guest has ended: it is suspended to disk, or a migration was cut off",
		Remedies: []Remedy{WaitForLock, StartHibernated, UnlockMoved, Unlock},
	},
	{
		Name: ManifestForbids, Held: TypeHeld, Act: EditManifest, Severity: SeverityWarning, Events: []event.Name{event.StepHeld}, Notice: forbiddenNotice,
		Sentence: "the last manifest of the guest or object keeps the agent from the step: `mode: observe`, `lifecycle.destroy: deny` or `lifecycle.recreate: deny`; an approval does not release it",
		Remedies: []Remedy{Enforce, EndOfGuard, AllowDestroy, RemoveByHand, RestoreGuest},
		Docs:     "For an owned guest, `mode: enforce` waits for an approval, see `guard`",
	},
	{
		Name: NeedsRoot, Types: []Type{TypeWarned, TypeFailed}, Held: TypeHeld, Act: FixCluster, Severity: SeverityWarning, Events: []event.Name{event.GuestFailed, event.StepHeld}, Notice: firstStartNotice,
		Sentence: "Proxmox allows the setting to root@pam only, and to no API token; a new guest is not started for the first time before it has the mounts and devices of its manifest",
		Remedies: []Remedy{SetAsRoot, SetBeforeStart, LeaveOutRootKey},
	},
	{
		Name: NoBackup, Types: []Type{TypeWarned}, Act: EditManifest, Severity: SeverityWarning,
		Sentence: "the manifest requires backups, and no enabled backup job covers the guest, or only one that was edited so that it backs up less, or no backup contains a volume for which the manifest does not say `backup: false`; or the backup job has no next time",
		Remedies: []Remedy{GrantJobAudit, ChangeSchedule, AddToJob, UndoJobEdit, PutInBackups},
		Docs:     "See [backup.md](backup.md#guests-that-must-be-backed-up)",
	},
	{
		Name: NodeOffline, Types: []Type{TypeUnknown}, Held: TypeHeld, Act: FixCluster, Severity: SeverityWarning, Events: []event.Name{event.StepHeld}, Runbook: "GitopsAgentNodeUnknown",
		Sentence: "the guest is on a node that is offline, or the step needs one; the guest is not created on another node",
		Remedies: []Remedy{StartNode, StartTarget},
	},
	{
		Name: NotAllowed, Types: []Type{TypeBlocked, TypeWarned}, Act: FixHost, Severity: SeverityWarning,
		Sentence: "the config of the agent's host does not allow what the manifest asks for: `images.allow` the server of an Image, `checks.allow` a check in `spec.health`, or `trust.guards` a guard so weak",
		Remedies: []Remedy{AllowServer, AllowCheck, HostMinimum},
		Docs:     "Guests that depend on one whose check is not allowed wait; of guards, the minimum of the host is in effect",
	},
	{
		Name: NotManaged, Types: []Type{TypeIdentityConflict, TypeBlocked, TypeUnknown, TypeWarned}, Act: EditManifest, Severity: SeverityWarning,
		Sentence: "something exists already that this agent does not manage: a guest or object that the manifest does not ask to adopt, or that has the marker of another owner; a guest that a manifest without vmid may mean; or a file that the agent did not download, or whose size has changed",
		Remedies: []Remedy{Adopt, AdoptMarked, AdoptObject, RestoreObjectMarker, RemoveForeignTag, RemoveForeignWord, MeantRenamed, MeantMarked, MeantUnnamed, MeantUnmarked, MeantOwned, MeantUUID, RemoveForeignFile, RemoveChangedFile, RemoveChangedFormer},
		Docs:     "It is not changed and not deleted, and nothing is created from such a file",
	},
	{
		Name: NotObserved, Types: []Type{TypeUnknown}, Held: TypeBlocked, Act: FixCluster, Severity: SeverityWarning, Events: []event.Name{event.StepHeld}, Runbook: "GitopsAgentNodeUnknown",
		Sentence: "the guest, or a guest that may use its volumes, was not read",
		Remedies: []Remedy{NameNode, AwaitDeletion, EndDeletions},
		Docs:     "For a step, the text has the remedy: `VM.Audit` on `/vms`, an offline node, a guest or storage that cannot be read, or a volume that does not exist",
	},
	{
		Name: OtherNode, Types: []Type{TypeWarned}, Act: EditManifest, Severity: SeverityWarning,
		Sentence: "the manifest names other nodes than those where it is: the guest is elsewhere, and `migrate` is not set, or a rule decides where the HA manager runs it; a replication job copies to another node since its guest was moved, or copies nothing since the guest is on the target; or an Image lists no `nodes`, each node has its storage for itself, and only the node in the text has the file",
		Remedies: []Remedy{CorrectNode, RuleDecides, PinByRule, MoveGuest, AwaitReturn, ListNodes},
	},
	{
		Name: Overridden, Types: []Type{TypeWarned}, Act: Wait, Severity: SeverityWarning,
		Sentence: "an order overrides `state` for a time; the message has its end",
		Remedies: []Remedy{EndOverride},
		Docs:     "See [orders.md](orders.md)",
	},
	{
		Name: OwnGuest, Held: TypeHeld, Act: FixCluster, Severity: SeverityWarning, Events: []event.Name{event.StepHeld},
		Sentence: "the step would stop, restart, move or destroy the guest in which the agent runs; an approval does not release it",
		Remedies: []Remedy{ByHand},
	},
	{
		Name: Pending, Types: []Type{TypePending}, Act: Wait, Severity: SeverityInfo,
		Sentence: "the manifest wants something new that is not done yet; a step that is held, blocked or fails has a condition of its own",
	},
	{
		Name: PendingRestart, Types: []Type{TypePendingRestart}, Act: Wait, Severity: SeverityWarning,
		Sentence: "changes are written and take effect at the next stop and start",
		Remedies: []Remedy{RestartByHand, PolicyRestarts},
	},
	{
		Name: Policy, Types: []Type{TypeWarned}, Held: TypeHeld, Act: EditManifest, Severity: SeverityWarning, Events: []event.Name{event.StepHeld}, Notice: policyNotice,
		Sentence: "a policy denies the step, requires approvals that it does not have, or warns, which holds nothing",
		Remedies: []Remedy{CorrectDenied, ApproveDigest, AfterAdoption, AfterVMID, HoldsNothing},
		Docs:     "The text names the policy, and the file of one of the repository. A policy that requires approvals is released as for `approval`. See [policies.md](policies.md)",
	},
	{
		Name: Rollout, Held: TypeHeld, Act: Wait, Severity: SeverityWarning, Events: []event.Name{event.StepHeld},
		Sentence: "the change reaches other guests first; an approval does not release it",
		Remedies: []Remedy{PromoteFailed, PromoteHeld, PromotePaused, PushAgain},
		Docs:     "[rollouts.md](rollouts.md) says what continues a rollout that has failed, pauses or is held",
	},
	{
		Name: Scope, Held: TypeHeld, Act: FixHost, Severity: SeverityWarning, Events: []event.Name{event.StepHeld}, Notice: scopeNotice,
		Sentence: "the signer who wrote the field may not touch what the step touches; an approval does not release it",
		Remedies: []Remedy{OtherSigner, ExtendSigner, ExtendOrderSigner},
		Docs:     "See [trust.md](trust.md#scopes)",
	},
	{
		Name: Secret, Types: []Type{TypeBlocked}, Held: TypeBlocked, Act: FixHost, Severity: SeverityWarning, Events: []event.Name{event.StepHeld},
		Sentence: "a secret is missing or cannot be given to the guest; a guest is not created, or not started for the first time, without it",
	},
	{
		Name: Suspended, Held: TypeSuspended, Act: EditManifest, Severity: SeverityInfo, Events: []event.Name{event.StepHeld}, Runbook: "GitopsAgentSuspendedTooLong",
		Sentence: "`spec.suspend` suspends the guest",
		Remedies: []Remedy{RemoveSuspend, EndOfGuard},
		Docs:     "This waits for an approval, see `guard`",
	},
	{
		Name: TaskHangs, Types: []Type{TypeBlocked}, Held: TypeHeld, Act: FixCluster, Severity: SeverityWarning, Events: []event.Name{event.TaskHangs}, Runbook: "GitopsAgentTaskHanging",
		Sentence: "a task of the guest still runs after the time that its operation may take; or two tasks on the node have run longer than `limits.task_time` of the config",
		Remedies: []Remedy{StopTask, StopNodeTasks},
	},
	{
		Name: VolumeLost, Types: []Type{TypeBlocked}, Act: FixCluster, Severity: SeverityWarning,
		Sentence: "an empty slot held a volume that cannot be attached again",
		Remedies: []Remedy{AttachLost},
	},
	{
		Name: WaitsFor, Types: []Type{TypeWaitsFor}, Held: TypeWaitsFor, Act: Wait, Severity: SeverityInfo, Events: []event.Name{event.StepHeld},
		Sentence: "other guests or objects of the manifests come first: they are not created, not started, not changed yet, or do not pass the checks in `spec.health` of their manifests; the step does not count as held. Or its turn has not come: the agent works on as many others as it may. Or the HA manager has not brought the guest to the run state yet that its entry asks for",
		Remedies: []Remedy{LookAtChecks, RaiseLimits},
		Docs:     "The text names the guest, or the check and what it found; [manifests.md](manifests.md#order) describes the checks",
	},
	{
		Name: Warnings, Types: []Type{TypeWarned}, Act: Wait, Severity: SeverityWarning,
		Sentence: "a task of the last work on the guest ended with warnings",
		Remedies: []Remedy{InSpite},
	},
	{
		Name: Window, Held: TypeHeld, Act: Wait, Severity: SeverityWarning, Events: []event.Name{event.StepHeld},
		Sentence: "it is not the time of the step: the guest may restart only within `lifecycle.window`, or the node is in maintenance, and gets no creates, starts, restarts or moves",
		Remedies: []Remedy{EndMaintenance},
	},
	{
		Name: WritesStopped, Types: []Type{TypeUnknown}, Held: TypeHeld, Act: FixHost, Severity: SeverityWarning, Events: []event.Name{event.WritesStopped},
		Sentence: "the agent writes nothing now; the text has the condition: quorum, the journal, no revision, a revision that does not verify, the claim of the cluster",
	},
}
