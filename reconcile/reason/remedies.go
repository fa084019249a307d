package reason

// What ends the reasons of the table.
var (
	ApproveDigest       = Remedy{Text: "gitops-agent approve {digest}", Command: "gitops-agent approve {digest}"}
	AfterAdoption       = Remedy{Text: "approve it when the guest is adopted: an approval names the identity that the adoption creates"}
	AfterVMID           = Remedy{Text: "approve it when the agent has chosen a vmid: an approval names it"}
	AddNamed            = Remedy{Text: "add a manifest of it, make it in Proxmox, or name another one"}
	ChangeTemplate      = Remedy{Text: "change these fields, clone another template, or change the template"}
	LeaveOutAtCreation  = Remedy{Text: "change these fields, or remove them from the manifest"}
	CorrectField        = Remedy{Text: "correct the field and push; until then the agent changes nothing of this guest"}
	Decompress          = Remedy{Text: "give the address and the checksum of a file that is not compressed, and leave decompression out: unpack the file and put it on a web server of your own if its publisher has none", Edits: []Edit{{Manifest, "spec.decompression", ""}}}
	AllowCheck          = Remedy{Text: "add the address to checks.allow, or change spec.health in the manifest", Edits: []Edit{{Config, "checks.allow", ""}, {Manifest, "spec.health", ""}}}
	RemoveCopiedTag     = Remedy{Text: "the agent does not change the copy; remove the tag from the copy before a manifest adopts it"}
	CheckToken          = Remedy{Text: "look at the token's permissions: gitops-agent config check --cluster lists what is missing", Command: "gitops-agent config check --cluster"}
	GrantPath           = Remedy{Text: "grant it: pveum acl modify {path} --tokens TOKEN --roles ROLE; gitops-agent config check --cluster lists all that is missing", Command: "pveum acl modify {path} --tokens TOKEN --roles ROLE"}
	FreeTags            = Remedy{Text: "let tags be free, or grant Sys.Modify on / to the token: gitops-agent config check --cluster prints the commands", Command: "gitops-agent config check --cluster"}
	LeaveOutRootKey     = Remedy{Text: "leave the key out of the manifest, or set it by hand and list it under spec.ignoreFields", Edits: []Edit{{Manifest, "spec.ignoreFields", ""}}}
	AllowDestroy        = Remedy{Text: "restore the manifest with lifecycle.destroy: approve or allow, then remove it", Edits: []Edit{{Manifest, "spec.lifecycle.destroy", "approve"}}}
	RemoveByHand        = Remedy{Text: "restore the manifest, or remove the object in Proxmox"}
	RaiseDestroyLimit   = Remedy{Text: "wait, or raise spec.guards.maxDestroysPerDay of the Cluster", Edits: []Edit{{Cluster, "spec.guards.maxDestroysPerDay", ""}}}
	CheckPaths          = Remedy{Text: "check source.paths and the repository", Edits: []Edit{{Config, "source.paths", ""}}}
	RestoreIdentity     = Remedy{Text: "if it is the same guest, restore its {missing}; if not, give the manifest another vmid", Edits: []Edit{{Manifest, "spec.vmid", ""}}}
	RemoveStranger      = Remedy{Text: "no manifest names this vmid any more: remove the guest by hand if it is not needed"}
	CorrectRefused      = Remedy{Text: "correct the manifest, or what Proxmox names; the agent retries a few times, then every half an hour, and at once with the next revision"}
	DeletedLater        = Remedy{Text: "the agent deletes it when nothing uses it any more"}
	ListNodes           = Remedy{Text: "list in spec.nodes of the Image each node on which guests are created from it", Edits: []Edit{{Manifest, "spec.nodes", ""}}}
	EnableFirewall      = Remedy{Text: "set networks.netN.firewall: true, correct the rules, or let an administrator enable the firewall of the datacenter, which the agent never does", Edits: []Edit{{Manifest, "spec.networks.netN.firewall", "true"}}}
	FindGuestEditor     = Remedy{Text: "find out who changes it, or list the field under spec.ignoreFields", Edits: []Edit{{Manifest, "spec.ignoreFields", ""}}}
	FindFileEditor      = Remedy{Text: "find out who removes them, or remove the manifest of the image"}
	FindObjectEditor    = Remedy{Text: "find out who changes it, leave the field out of its manifest if it is optional, or set spec.mode: observe", Edits: []Edit{{Manifest, "spec.mode", "observe"}}}
	RemoveForeignFile   = Remedy{Text: "look where it is from; remove it in Proxmox, and the agent downloads it"}
	RemoveChangedFile   = Remedy{Text: "look who changed it; remove it in Proxmox, and the agent downloads it again"}
	RemoveChangedFormer = Remedy{Text: "look who changed it; remove it in Proxmox, or store it under another name"}
	RemoveForeignTag    = Remedy{Text: "if no other agent manages the guest, remove its tag {tag}"}
	RemoveForeignWord   = Remedy{Text: "if no agent manages it any more, remove this word from its comment and set adopt: ifUnmanaged", Edits: []Edit{{Manifest, "spec.adopt", "ifUnmanaged"}}}
	HostMinimum         = Remedy{Text: "trust.guards in the agent's config sets it; the manifest asks for less", Edits: []Edit{{Config, "trust.guards", ""}}}
	GrantAudit          = Remedy{Text: "grant VM.Audit on /vms/{vmid}, or choose another vmid", Edits: []Edit{{Manifest, "spec.vmid", ""}}}
	ChangeByHand        = Remedy{Text: "change the manifest, or make the change by hand"}
	NewID               = Remedy{Text: "describe it by a manifest with another id, which replaces this one", Edits: []Edit{{Manifest, "spec.id", ""}}}
	SetComment          = Remedy{Text: "set spec.comment, which replaces it", Edits: []Edit{{Manifest, "spec.comment", ""}}}
	SeveralCommits      = Remedy{Text: "change it by several commits, each of which only adds or only removes addresses"}
	RemoveUsers         = Remedy{Text: "remove what names it; the agent looks again every half an hour, and at once after a step of its own on a guest or a firewall, and with the next revision"}
	RemoveReplication   = Remedy{Text: "the agent goes on when the job is gone: approve its removal if that is held, or remove a job that no manifest described by hand"}
	OtherVMIDOrKind     = Remedy{Text: "choose another vmid, or change the manifest's kind", Edits: []Edit{{Manifest, "spec.vmid", ""}, {Manifest, "kind", ""}}}
	WaitForLock         = Remedy{Text: "wait for the task that holds the lock ({task})"}
	CloneReaches        = Remedy{Text: "move the template to a shared storage or to that node, name the node of the template, set source.clone.full: true with a storage that both nodes have, or eject the disc of the template", Edits: []Edit{{Manifest, "spec.source.clone", ""}, {Manifest, "spec.node", ""}}}
	RepairHA            = Remedy{Text: "correct what kept it from starting or moving, which the log of pve-ha-lrm on its node has, then: ha-manager set {sid} --state disabled. When the HA manager has taken that, the agent sets what the manifest says", Command: "ha-manager set {sid} --state disabled"}
	StartHibernated     = Remedy{Text: "start it in Proxmox, which resumes it; do not unlock it, since that destroys its memory"}
	UnlockMoved         = Remedy{Text: "look at it on both nodes of the migration, then on its node: {tool} unlock {vmid}. A second QEMU may wait on the other node: the next migration there fails, and ends it", Command: "{tool} unlock {vmid}"}
	MeantRenamed        = Remedy{Text: "if the manifest means guest {vmid}: set spec.vmid: {vmid}, give both the same name, and claim it with gitops-agent recover --yes; if guest {vmid} is a copy or belongs to another agent: remove its tag {tag}, or take its vmid out of spec.vmids of the Cluster", Command: "gitops-agent recover --yes", Edits: []Edit{{Manifest, "spec.vmid", "{vmid}"}, {Cluster, "spec.vmids", ""}}}
	MeantMarked         = Remedy{Text: "if the manifest means guest {vmid}, and no other agent manages that guest: set spec.vmid: {vmid} and spec.adopt: ifUnmanaged, and then remove its tag {tag}; if not, set spec.vmid to a free vmid", Edits: []Edit{{Manifest, "spec.vmid", "{vmid}"}, {Manifest, "spec.adopt", "ifUnmanaged"}}}
	MeantUnnamed        = Remedy{Text: "start the node of guest {vmid}, or wait until Proxmox reports its name; or set spec.vmid", Edits: []Edit{{Manifest, "spec.vmid", ""}}}
	MeantUnmarked       = Remedy{Text: "if the manifest means guest {vmid}: set spec.vmid: {vmid} and spec.adopt: ifUnmanaged; if not: set spec.vmid to a free vmid, or take {vmid} out of spec.vmids of the Cluster", Edits: []Edit{{Manifest, "spec.vmid", "{vmid}"}, {Manifest, "spec.adopt", "ifUnmanaged"}, {Cluster, "spec.vmids", ""}}}
	MeantOwned          = Remedy{Text: "set spec.vmid to the vmid of the guest that is meant, such as {vmid}, or to a free vmid", Edits: []Edit{{Manifest, "spec.vmid", "{vmid}"}}}
	MeantUUID           = Remedy{Text: "if the manifest means guest {vmid}: set spec.vmid: {vmid} and spec.adopt: ifUnmanaged, or claim it with gitops-agent recover --yes; if not: give the manifest another uuid", Command: "gitops-agent recover --yes", Edits: []Edit{{Manifest, "spec.vmid", "{vmid}"}, {Manifest, "spec.adopt", "ifUnmanaged"}}}
	SetAsRoot           = Remedy{Text: "as root on {node}: {command}", Command: "{command}"}
	SetBeforeStart      = Remedy{Text: "{command}; or lifecycle.startWithout: [{keys}] starts it without", Command: "{command}", Edits: []Edit{{Manifest, "spec.lifecycle.startWithout", "[{keys}]"}}}
	GrantJobAudit       = Remedy{Text: "the token needs Sys.Audit on /"}
	AddToJob            = Remedy{Text: "add it to a BackupJob, or enable one"}
	UndoJobEdit         = Remedy{Text: "the agent repairs what the manifest of the job says and no hold prevents; undo the rest in Proxmox, or write it into the manifest"}
	PutInBackups        = Remedy{Text: "in its manifest, backup: true puts a volume into backups, and backup: false says that they shall not contain it"}
	LargerNode          = Remedy{Text: "lower spec.memory.size or spec.cpu, or name a node that has more in spec.node", Edits: []Edit{{Manifest, "spec.memory.size", ""}, {Manifest, "spec.cpu", ""}, {Manifest, "spec.node", ""}}}
	FreeStorage         = Remedy{Text: "free space on the storage, or lower a size in spec.disks, spec.rootfs or spec.mounts", Edits: []Edit{{Manifest, "spec.disks", ""}, {Manifest, "spec.rootfs", ""}, {Manifest, "spec.mounts", ""}}}
	MakeRoom            = Remedy{Text: "free what it needs on a node, allow more nodes in placement.auto.nodes, or name the node in spec.node", Edits: []Edit{{Manifest, "spec.placement.auto.nodes", ""}, {Manifest, "spec.node", ""}}}
	CorrectSource       = Remedy{Text: "correct spec.source and spec.node, or create what they name", Edits: []Edit{{Manifest, "spec.source", ""}, {Manifest, "spec.node", ""}}}
	AddSource           = Remedy{Text: "add spec.source to create the guest, or correct spec.vmid if the guest exists", Edits: []Edit{{Manifest, "spec.source", ""}, {Manifest, "spec.vmid", ""}}}
	WidenVMIDs          = Remedy{Text: "widen spec.vmids of the Cluster, or give the manifest a vmid", Edits: []Edit{{Cluster, "spec.vmids", ""}, {Manifest, "spec.vmid", ""}}}
	EndMaintenance      = Remedy{Text: "end the maintenance when it is done: ha-manager crm-command node-maintenance disable {node}", Command: "ha-manager crm-command node-maintenance disable {node}"}
	StartNode           = Remedy{Text: "start the node, or wait until it is back; the agent does not create the guest on another node"}
	StartTarget         = Remedy{Text: "start the node, or wait until it is back; the agent creates nothing on another node instead"}
	Adopt               = Remedy{Text: "set spec.adopt: ifUnmanaged to take it over, or choose another vmid", Edits: []Edit{{Manifest, "spec.adopt", "ifUnmanaged"}, {Manifest, "spec.vmid", ""}}}
	AdoptMarked         = Remedy{Text: "if no other agent manages it, remove its tag {tag} and set spec.adopt: ifUnmanaged to adopt it; or choose another vmid", Edits: []Edit{{Manifest, "spec.adopt", "ifUnmanaged"}, {Manifest, "spec.vmid", ""}}}
	AdoptObject         = Remedy{Text: "to take it over, set adopt: ifUnmanaged", Edits: []Edit{{Manifest, "spec.adopt", "ifUnmanaged"}}}
	RestoreObjectMarker = Remedy{Text: "to take it over again, put the marker back at the end of its comment, or set adopt: ifUnmanaged", Edits: []Edit{{Manifest, "spec.adopt", "ifUnmanaged"}}}
	NameNode            = Remedy{Text: "name a node in spec.nodes of the Image", Edits: []Edit{{Manifest, "spec.nodes", ""}}}
	AwaitDeletion       = Remedy{Text: "wait until it has ended, or until the call cannot act any more; the agent then goes on by itself"}
	EndDeletions        = Remedy{Text: "if the storage was removed for good, accept a manifest of the Image with prune: false, which ends the deletions; it may be removed in the commit after that", Edits: []Edit{{Manifest, "spec.prune", "false"}}}
	LookAtChecks        = Remedy{Text: "look at the guest that is not ready; spec.health of its manifest says what is checked", Edits: []Edit{{Manifest, "spec.health", ""}}}
	RaiseLimits         = Remedy{Text: "it begins by itself; parallel and limits in the config of the agent say how many guests it works on at the same time", Edits: []Edit{{Config, "parallel", ""}}}
	Enforce             = Remedy{Text: "set spec.mode: enforce", Edits: []Edit{{Manifest, "spec.mode", "enforce"}}}
	EndOfGuard          = Remedy{Text: "approve the step weaken of the guest: its condition of the reason guard has the digest"}
	CorrectNode         = Remedy{Text: "move it in Proxmox, or correct spec.node; spec.placement.prefer lists the nodes where it may be, and spec.placement.migrate: online lets the agent move it", Edits: []Edit{{Manifest, "spec.node", ""}, {Manifest, "spec.placement.prefer", ""}, {Manifest, "spec.placement.migrate", "online"}}}
	EndOverride         = Remedy{Text: "it ends by itself; an order without for=, back to the state of the manifest, ends it now"}
	ByHand              = Remedy{Text: "do it by hand in Proxmox; if the agent runs elsewhere, set proxmox.self_vmid in its config", Edits: []Edit{{Config, "proxmox.self_vmid", ""}}}
	Unlock              = Remedy{Text: "wait; if no task creates it any more, unlock it on its node ({tool} unlock {vmid}) and remove it", Command: "{tool} unlock {vmid}"}
	RestartByHand       = Remedy{Text: "stop and start the guest from Proxmox, or set lifecycle.rebootPolicy; a reboot from inside the guest is not enough", Edits: []Edit{{Manifest, "spec.lifecycle.rebootPolicy", ""}}}
	PolicyRestarts      = Remedy{Text: "lifecycle.rebootPolicy: {policy} restarts it"}
	CorrectDenied       = Remedy{Text: "correct what the policy is about; approvals have no effect"}
	HoldsNothing        = Remedy{Text: "this holds nothing"}
	RestoreGuest        = Remedy{Text: "restore the guest in Proxmox, set lifecycle.recreate to approve or allow, or remove the manifest", Edits: []Edit{{Manifest, "spec.lifecycle.recreate", "approve"}}}
	NameAgain           = Remedy{Text: "if the manifest means this guest, set spec.vmid: {vmid}", Edits: []Edit{{Manifest, "spec.vmid", "{vmid}"}}}
	OtherSigner         = Remedy{Text: "let a signer without guests write {field}"}
	ExtendSigner        = Remedy{Text: "let a signer without guests write {field}, or add {limit} to the entry {signer} of trust.signers on the agent's host and restart the agent", Edits: []Edit{{Config, "trust.signers", ""}}}
	ExtendOrderSigner   = Remedy{Text: "extend the guests, vmids or paths of the entry {signer} of trust.signers, or let another signer sign the order", Edits: []Edit{{Config, "trust.signers", ""}}}
	AllowServer         = Remedy{Text: "add {server} to images.allow in the agent's config, or use a server that is listed there", Edits: []Edit{{Config, "images.allow", "{server}"}}}
	RemoveSnapshotCause = Remedy{Text: "remove the cause; a storage without snapshots cannot have a schedule. The next try is at {time}"}
	DeleteSnapshots     = Remedy{Text: "delete those that are not needed by an order delete-snapshot, or in Proxmox; or restore spec.snapshots", Edits: []Edit{{Manifest, "spec.snapshots", ""}}}
	RemoveSuspend       = Remedy{Text: "remove spec.suspend", Edits: []Edit{{Manifest, "spec.suspend", ""}}}
	StopTask            = Remedy{Text: "look at the task in Proxmox; stop it there if it will not end. The agent aborts no task, and does nothing else for this guest until the task ends"}
	StopNodeTasks       = Remedy{Text: "look at the tasks of this node in Proxmox, and stop those that will not end"}
	AttachOrRemove      = Remedy{Text: "attach one by disks.SLOT.volume, or remove it in Proxmox; the agent frees none", Edits: []Edit{{Manifest, "spec.disks.SLOT.volume", ""}}}
	FreeVolume          = Remedy{Text: "remove the volume from the other guest and its manifest; if that guest needs the volume, reassign it in Proxmox first (Reassign Owner), which gives it another name"}
	ReleaseVolume       = Remedy{Text: "remove the volume from that guest and its snapshots, or name another volume"}
	ReassignVolume      = Remedy{Text: "remove the volume from that guest and its snapshots; if that guest needs the volume, reassign it in Proxmox first (Reassign Owner), which gives it another name"}
	ClaimLost           = Remedy{Text: "if this agent made the guest and lost its records, gitops-agent recover --yes claims it, or gitops-agent approve {digest}; if not: {remedy}", Command: "gitops-agent recover --yes"}
	PromoteFailed       = Remedy{Text: "remove the cause; then {command} continues. Another revision, such as a revert, begins again at the canary", Command: "{command}"}
	PromoteHeld         = Remedy{Text: "compare the guests with their manifests; then {command} begins at the canary", Command: "{command}"}
	PromotePaused       = Remedy{Text: "{command} continues, {abort} ends it", Command: "{command}"}
	PushAgain           = Remedy{Text: "push another revision, such as a revert: it begins again at the canary"}
	UpgradeNodes        = Remedy{Text: "upgrade all nodes to Proxmox VE 9, or remove the manifest"}
	DisableByRemoval    = Remedy{Text: "remove the manifest until the rule shall have an effect, or upgrade all nodes to Proxmox VE 9"}
	AnotherID           = Remedy{Text: "give the manifest another id; the former rule is then removed", Edits: []Edit{{Manifest, "spec.id", ""}}}
	SetHA               = Remedy{Text: "set spec.ha of the guests, or take them out of the rule", Edits: []Edit{{Manifest, "spec.ha", ""}}}
	PinByRule           = Remedy{Text: "describe an AffinityRule about nodes, which the HA manager keeps to when it balances, or list each node where it may run in placement.prefer", Edits: []Edit{{Manifest, "spec.placement.prefer", ""}}}
	RuleDecides         = Remedy{Text: "let the rule and placement.prefer name the same nodes: the HA manager undoes what contradicts its rules", Edits: []Edit{{Manifest, "spec.placement.prefer", ""}}}
	LeaveRule           = Remedy{Text: "take it out of that {noun}, or out of this rule; if rules exchange all of their guests, disable one of them in a commit of its own"}
	GiveLabels          = Remedy{Text: "give a guest the labels, or remove the manifest"}
	MoveGuest           = Remedy{Text: "move the guest, or describe a job to another node by a manifest with another id"}
	AwaitReturn         = Remedy{Text: "nothing has to be done: Proxmox copies to {node} again when the guest moves back"}
	ChangeSchedule      = Remedy{Text: "change the schedule; if it ran until the clocks were put forward, give it a time that they do not skip", Edits: []Edit{{Manifest, "spec.schedule", ""}}}
	CreateAgain         = Remedy{Text: "undo the edit, or create the guest or the volume again; spec.ignoreFields with {field} accepts it as it is, and may go with a later commit", Edits: []Edit{{Manifest, "spec.ignoreFields", "{field}"}}}
	SetInGuest          = Remedy{Text: "undo the edit, or make the change inside the guest, and then list {field} under spec.ignoreFields, which takes the guest as it is and may go with a later commit", Edits: []Edit{{Manifest, "spec.ignoreFields", "{field}"}}}
	DetachVolume        = Remedy{Text: "detach it from that guest, or name another volume"}
	AttachLater         = Remedy{Text: "create the guest without the volume, and add the volume when the guest exists: that step names what an approval releases"}
	AttachLost          = Remedy{Text: "the agent attaches the volume when it is among the guest's unused volumes ({command} on {node} finds a volume that still exists); or attach the right volume by hand, or name it in the manifest; approve the step only if an empty volume is wanted", Command: "{command}", Edits: []Edit{{Manifest, "spec.disks.SLOT.volume", ""}}}
	InSpite             = Remedy{Text: "the task succeeded in spite of the warning"}
)

// What ends the reasons not to write.
var (
	Resume                = Remedy{Text: "gitops-agent resume on the agent's host ends the pause", Command: "gitops-agent resume"}
	AwaitCluster          = Remedy{Text: "the accepted revision stays in force; work continues when the cluster answers and has quorum"}
	CheckTrust            = Remedy{Text: "check the trusted root and the policy; a new commit on top that is signed under them is accepted"}
	AwaitFloor            = Remedy{Text: "the floor of accepted revisions is read from the cluster; work begins when it answers"}
	CheckTrustFiles       = Remedy{Text: "check the files of trust in the agent's config, above all the trusted root: gitops-agent config check", Command: "gitops-agent config check"}
	RestoreStateDirectory = Remedy{Text: "put the same directory back and writing continues; otherwise stop the agent, check that no other agent uses the directory, and start it again"}
)

// What ends a fault of the journal.
var (
	BringStoreBack = Remedy{Text: "bring etcd back, or the way to it; the agent goes on by itself"}
	RestoreStore   = Remedy{Text: "etcd was restored from an old copy: docs/ha.md says what to do"}
	AwaitLeader    = Remedy{Text: "another agent leads, or may lead; this one follows it in a moment"}
	FreeDisk       = Remedy{Text: "free space on the disk, make the file system writable and start the agent again, or see gitops-agent journal repair; of a journal in etcd, free its space or correct the rights of its user: docs/ha.md", Command: "gitops-agent journal repair"}
)

// What ends a failure to fetch.
var (
	CheckAddress     = Remedy{Text: "check the host in the url, its port, and the firewall between this host and the remote"}
	CheckHostKey     = Remedy{Text: "for https set ca_file of the remote; for ssh compare the key with the one on the host, and write it to known_hosts_file: ssh-keyscan HOST", Command: "ssh-keyscan HOST", Edits: []Edit{{Config, "source.remotes.ca_file", ""}, {Config, "source.remotes.known_hosts_file", ""}}}
	CheckLatency     = Remedy{Text: "the remote did not answer in time: check the network, or set a longer source.timeout", Edits: []Edit{{Config, "source.timeout", ""}}}
	CheckCredentials = Remedy{Text: "check token_file and username of the remote, or whether the forge has the public key of ssh_key_file", Edits: []Edit{{Config, "source.remotes.token_file", ""}, {Config, "source.remotes.ssh_key_file", ""}}}
	CheckBranch      = Remedy{Text: "check source.branch and the url; a forge also says this about a private repository without credentials", Edits: []Edit{{Config, "source.branch", ""}}}
)
