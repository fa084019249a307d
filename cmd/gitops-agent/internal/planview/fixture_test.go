package planview

import (
	"testing"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/policy"
	"gitops-agent/reconcile/reason"
)

// plannedGuest is one guest of the fixture. The verdict of a step has the same index.
type plannedGuest struct {
	plan     plan.Guest
	verdicts []gate.Verdict
	age      time.Duration
}

var fixtureNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fixtureDocument returns a plan with every operation, class, hold and condition that a plan can have.
func fixtureDocument() Document {
	d := Document{SchemaVersion: term.SchemaVersion, Cluster: "home", Basis: BasisWorkingCopy, Revision: "guests", Guests: []guestView{}}
	for _, p := range fixture() {
		next := 0
		judge := func(plan.Step) gate.Verdict {
			next++
			if next > len(p.verdicts) {
				return gate.Verdict{}
			}
			return p.verdicts[next-1]
		}
		view := newGuestView(p.plan, judge)
		if p.age > 0 {
			view = view.readAt(fixtureNow.Add(-p.age), fixtureNow)
		}
		d.add(view)
	}
	d.Notes = []noteView{{Guest: "VirtualMachine/db-7", Key: "scsi0", Message: "a disk never shrinks: the live size is 20G; write it", Origin: "guests/db.yaml:9:22"}}
	d.Summary.InSync = 7
	d.Summary.Held += d.heldGuards()
	return d
}

func fixture() []plannedGuest {
	return []plannedGuest{
		busyMachine(), cloned(), restoredContainer(), imported(), unassigned(), destroyed(), destroyDenied(), destroyLimited(), emptyDesired(), recreateDenied(), ownGuest(), onUnavailableNodes(), outOfScope(), heldByPolicy(), volumeInUse(), volumeUsersUnknown(), weakened(), taskHangs(), inRollout(),
		unstarted("vpn-1", 232, held(reason.NeedsRoot, "a new guest is not started for the first time before its configuration has dev0, which only root@pam may set",
			"as root on pve1: pct set 232 --dev0 /dev/net/tun; or lifecycle.startWithout: [dev0] starts it without")),
		unstarted("vpn-2", 233, held(reason.Secret, "rootpassword: secret vpn: it is not there", "make the file /etc/gitops-agent/secrets/vpn on the agent's host")),
		unstarted("vpn-3", 234, held(reason.Impossible, "a new guest is not started for the first time before its configuration has mp0: another guest uses the volume", reason.ChangeByHand.Text)),
		unstarted("vpn-4", 235, held(reason.HAError, "the HA manager has given the guest up (its state is error): it stays as it is", reason.RepairHA.With("ct:235"))),
		observed(), suspendedGuest(), writesStopped(), adopted(), inWindow(), converted(), imageFile(), formerFile(), pool(), orphanedPool(), stranger(), locked(), unreadGuest(), waitingGuest(), forgotten(), missingPrivilege(),
	}
}

func ref(kind guest.Kind, name string, vmid int) guest.Ref {
	return guest.Ref{Kind: kind, Name: name, VMID: vmid}
}

func at(file string, line, column int) guest.Origin {
	return guest.Origin{File: file, Line: line, Column: column}
}

func step(op cluster.Op, class guest.Class, reason string, changes ...guest.Change) plan.Step {
	return plan.Step{Op: op, Class: class, Reason: reason, Changes: changes}
}

func approval(message, digest string) gate.Verdict {
	return gate.Verdict{Held: true, Reason: reason.Approval, Message: message, Hint: "gitops-agent approve " + digest, Digest: digest}
}

const (
	firstDigest  = "00000000000000000000000000000001"
	secondDigest = "00000000000000000000000000000002"
	thirdDigest  = "00000000000000000000000000000003"
)

// busyMachine has a change of every kind.
func busyMachine() plannedGuest {
	file := "guests/web/web-1.yaml"
	live := []guest.Change{
		{Key: "description", From: "old text", To: "<b>bold</b> @ops | see https://example.org\n" + "and a long story that no terminal has room for on one line, so it is cut", Class: guest.Live, Write: guest.WriteSet, Origin: at(file, 20, 3)},
		{Key: "onboot", To: "1", Class: guest.Live, Write: guest.WriteSet, Origin: at(file, 14, 21)},
		{Key: "tags", From: "gitops-0a1b2c3d;web", To: "gitops-0a1b2c3d;prod;web", Class: guest.Live, Write: guest.WriteSet, Origin: at(file, 13, 3)},
		{Key: "memory", From: "2048", To: "4096", Class: guest.Restart, Write: guest.WriteSet, Note: "restart needed", Origin: at(file, 7, 18)},
		{Key: "cipassword", From: "hunter2", To: "correct horse", Class: guest.Restart, Write: guest.WriteSecret, Note: "cloud-init runs again at the next start, as on a new machine", Origin: at(file, 9, 5)},
	}
	flap := []guest.Change{
		{Key: "net0", From: "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1", To: "virtio=BC:24:11:00:00:01,bridge=vmbr1,tag=20,firewall=1", Class: guest.Disruptive, Write: guest.WriteSet, Note: "link flap", Origin: at(file, 12, 5)},
		{Key: "net1", From: "virtio=BC:24:11:00:00:02,bridge=vmbr0", Class: guest.Disruptive, Write: guest.WriteDelete, Note: "NIC removed", Origin: at(file, 13, 5)},
	}
	loss := guest.Change{Key: "unused0", From: "local-lvm:vm-201-disk-7", Class: guest.Destructive, Write: guest.WriteDelete, Note: "the volume is deleted", Origin: at(file, 15, 3)}
	grow := guest.Change{Key: "scsi1", From: "size=4G", To: "size=8G", Class: guest.Live, Write: guest.WriteResize, Note: "grows, which cannot be undone", Origin: at(file, 10, 5)}
	move := guest.Change{Key: "scsi0", From: "local-lvm", To: "ceph", Class: guest.Disruptive, Write: guest.WriteMove, Note: "copies 32G; the old volume stays as unused", Origin: at(file, 11, 5)}
	node := guest.Change{Key: "node", From: "pve1", To: "pve2", Class: guest.Live, Write: guest.WriteMigrate, Note: "moves while it runs", Origin: at(file, 5, 3)}
	pool := guest.Change{Key: "pool", From: "lab", To: "prod", Class: guest.Live, Write: guest.WritePool, Note: "backup jobs and permissions may go by pool", Origin: at(file, 6, 3)}
	ha := guest.Change{Key: "ha", From: "started, restart 1, relocate 1", To: "started, restart 3, relocate 1", Class: guest.Live, Write: guest.WriteHA, Value: "set", Origin: at(file, 16, 3)}
	leave := guest.Change{Key: "startup", From: "order=1", To: "order=2", Class: guest.Restart, Waits: true, Write: guest.WriteNone, Note: "restart needed", Origin: at(file, 17, 3)}
	medium := guest.Change{Key: "scsi2", From: "local:iso/a.iso,media=cdrom", To: "local-lvm,size=32G", Class: guest.Impossible, Write: guest.WriteNone, Note: "a drive cannot change between disk and CD-ROM while the guest runs", Origin: at(file, 18, 5)}
	p := plan.Guest{
		Ref: ref(guest.VirtualMachine, "web-1", 201), Node: "pve1", Managed: true, Origin: at(file, 1, 1),
		Changes: append(append(append([]guest.Change{}, live...), flap...), loss, grow, move, node, pool, ha, leave, medium),
		Steps: []plan.Step{
			step(cluster.OpConfig, guest.Restart, "configuration differs", live...), step(cluster.OpConfig, guest.Disruptive, "configuration differs", flap...),
			step(cluster.OpConfig, guest.Destructive, "configuration differs", loss), step(cluster.OpResize, guest.Live, "disk is smaller than wanted", grow),
			step(cluster.OpMove, guest.Disruptive, "disk is on another storage", move), step(cluster.OpMigrate, guest.Live, "another node is wanted", node),
			step(cluster.OpPool, guest.Live, "another pool is wanted", pool), step(cluster.OpHASet, guest.Live, "HA differs", ha),
			step(cluster.OpFirewall, guest.Live, "firewall differs"),
			step(cluster.OpCloudInit, guest.Restart, "cloud-init keys changed"), step(cluster.OpReboot, guest.Disruptive, "written changes wait for a restart"),
		},
		Conditions: []plan.Condition{
			{Type: plan.PendingRestart, Reason: "pending-restart", Message: "written, in effect after the next stop and start: startup", Hint: "stop and start the guest from Proxmox; a reboot from inside the guest is not enough"},
			{Type: plan.Blocked, Reason: "impossible", Message: "scsi2: a drive cannot change between disk and CD-ROM while the guest runs", Hint: "change the manifest, or do it by hand"},
		},
	}
	return plannedGuest{plan: p, age: 95 * time.Second, verdicts: []gate.Verdict{
		{},
		approval("it interrupts the running guest: 0 of 1 approvals", firstDigest),
		approval("it destroys data: 0 of 2 approvals", secondDigest),
		{},
		{Digest: thirdDigest, ApprovalKeys: []string{"order"}},
	}}
}

func cloned() plannedGuest {
	p := plan.Guest{
		Ref: ref(guest.VirtualMachine, "db-1", 202), Node: "pve1", Managed: true, Origin: at("guests/db.yaml", 1, 1),
		Changes: []guest.Change{
			{Key: "memory", To: "1024", Class: guest.Live, Write: guest.WriteSet, Origin: at("guests/db.yaml", 6, 18)},
			{Key: "name", To: "db-1", Class: guest.Live, Write: guest.WriteSet, Origin: at("guests/db.yaml", 3, 18)},
		},
	}
	create := step(cluster.OpCreate, guest.Live, "does not exist", p.Changes...)
	create.TakesOwnership = true
	create.Calls = []cluster.Call{{Op: cluster.OpCreate, CloneOf: 9000, Params: map[string]string{"full": "1", "snapname": "clean"}}}
	p.Steps = []plan.Step{create, step(cluster.OpHAAdd, guest.Live, "HA is wanted"), step(cluster.OpStart, guest.Live, "state: running")}
	waits := gate.Verdict{Held: true, Reason: reason.WaitsFor, Message: "it depends on VirtualMachine/web-1, which waits itself"}
	notReady := gate.Verdict{
		Held: true, Reason: reason.WaitsFor, Message: "it depends on VirtualMachine/db-1, which is not ready: tcp 192.0.2.10:5432: no answer",
		Hint: "look at the guest that is not ready; spec.health of its manifest says what is checked",
	}
	return plannedGuest{plan: p, verdicts: []gate.Verdict{waits, waits, notReady}}
}

func restoredContainer() plannedGuest {
	p := plan.Guest{
		Ref: ref(guest.Container, "dns-2", 211), Node: "pve2", Managed: true, Origin: at("guests/dns.yaml", 1, 1),
		Changes: []guest.Change{
			{Key: "hostname", To: "dns-2", Class: guest.Live, Write: guest.WriteSet, Origin: at("guests/dns.yaml", 3, 18)},
			{Key: "password", To: "plain text that must not show", Class: guest.Live, Write: guest.WriteSet, Origin: at("guests/dns.yaml", 8, 3)},
		},
	}
	create := step(cluster.OpCreate, guest.Live, "does not exist", p.Changes...)
	create.Calls = []cluster.Call{{Op: cluster.OpCreate, Params: map[string]string{"ostemplate": "pbs:backup/ct/211/2026-01-01T00:00:00Z", "restore": "1"}}}
	p.Steps = []plan.Step{create, step(cluster.OpStart, guest.Live, "state: running")}
	return plannedGuest{plan: p}
}

func imported() plannedGuest {
	p := plan.Guest{Ref: ref(guest.VirtualMachine, "talos-1", 203), Node: "pve2", Managed: true, Origin: at("guests/k8s.yaml", 1, 1)}
	create := step(cluster.OpCreate, guest.Live, "does not exist")
	create.Calls = []cluster.Call{{Op: cluster.OpCreate, Params: map[string]string{"scsi0": "local-lvm:0,import-from=local:import/talos.qcow2,discard=on"}}}
	p.Steps = []plan.Step{create}
	return plannedGuest{plan: p}
}

// unassigned has no vmid yet, and no source.
func unassigned() plannedGuest {
	return plannedGuest{plan: plan.Guest{
		Ref: ref(guest.VirtualMachine, "new", 0), Managed: true, Origin: at("guests/new.yaml", 1, 1),
		Conditions: []plan.Condition{{Type: plan.Blocked, Reason: reason.Impossible, Message: "VirtualMachine/new does not exist, and the manifest has no source to create it from", Hint: "correct spec.source and spec.node, or make what they name"}},
	}}
}

func destroy(name string, vmid int, verdict gate.Verdict, volumes ...string) plannedGuest {
	s := step(cluster.OpDestroy, guest.Destructive, "removed from the repository")
	s.Volumes = volumes
	return plannedGuest{
		plan: plan.Guest{
			Ref: ref(guest.Container, name, vmid), Node: "pve1", Steps: []plan.Step{s},
			Conditions: []plan.Condition{{Type: plan.Orphaned, Reason: reason.LeftOver, Message: "no manifest names this guest any more"}},
		},
		verdicts: []gate.Verdict{verdict},
	}
}

func destroyed() plannedGuest {
	return destroy("dns-1", 210, approval("it destroys the guest and its volumes: 0 of 1 approvals", thirdDigest), "local-lvm:vm-210-disk-0", "local-lvm:vm-210-disk-1")
}

func held(reason reason.Name, message, hint string) gate.Verdict {
	return gate.Verdict{Held: true, Reason: reason, Message: message, Hint: hint}
}

func destroyDenied() plannedGuest {
	return destroy("vault", 212, held(reason.ManifestForbids, "its last accepted manifest says lifecycle.destroy: deny", "put the manifest back with lifecycle.destroy: approve or allow, then remove it"), "ceph:vm-212-disk-0")
}

func destroyLimited() plannedGuest {
	return destroy("old-1", 213, held(reason.DestroyLimit, "3 calls to destroy a guest were sent in the last 24 hours", "wait, or raise spec.guards.maxDestroysPerDay of the Cluster"))
}

// recreateDenied was destroyed by hand.
func recreateDenied() plannedGuest {
	create := step(cluster.OpCreate, guest.Live, "existed, and is gone")
	create.Calls, create.Recreates = []cluster.Call{{Op: cluster.OpCreate, Params: map[string]string{"scsi0": "local-lvm:32"}}}, true
	return plannedGuest{
		plan: plan.Guest{Ref: ref(guest.VirtualMachine, "files-1", 219), Node: "pve1", Managed: true, Origin: at("guests/files.yaml", 1, 1), Steps: []plan.Step{create}},
		verdicts: []gate.Verdict{held(reason.ManifestForbids, "the guest is gone, the agent did not destroy it, and lifecycle.recreate is deny",
			"restore the guest in Proxmox, set lifecycle.recreate to approve or allow, or remove the manifest")},
	}
}

func volumeInUse() plannedGuest {
	return destroy("old-3", 220, held(reason.InUse, "the call would delete local-lvm:vm-220-disk-0, which is in use: VirtualMachine/mail-0 (1000) as scsi5",
		"remove the volume from that guest and its snapshots"))
}

func volumeUsersUnknown() plannedGuest {
	return destroy("old-4", 221, held(reason.NotObserved, "it is unknown who uses the volumes (node-offline): node pve2 is offline", "start the node"))
}

// weakened is a guest in sync whose manifest allows more than before.
func weakened() plannedGuest {
	w := &guard.Weakening{Field: guest.GuardDestroy, Old: "deny", New: "allow", Origin: at("guests/mail.yaml", 9, 5), Digest: "5f1c0e9d8b7a69584736251403f2e1d0"}
	mail := ref(guest.VirtualMachine, "mail-1", 230)
	verdict := held(reason.Guard, "the manifest weakens lifecycle.destroy: deny -> allow (guests/mail.yaml:9:5); the old value stays in force: 0 of 2 approvals",
		"gitops-agent approve "+w.Digest)
	verdict.Digest = w.Digest
	return plannedGuest{
		plan:     plan.Guest{Ref: mail, Node: "pve1", Managed: true, Origin: at("guests/mail.yaml", 1, 1), Guards: []plan.Step{plan.WeakeningStep(mail, w)}},
		verdicts: []gate.Verdict{verdict},
	}
}

// inRollout waits for its turn in a rollout.
func inRollout() plannedGuest {
	restart := step(cluster.OpReboot, guest.Disruptive, "")
	restart.Calls = []cluster.Call{{Op: cluster.OpReboot, Node: "pve1"}}
	return plannedGuest{
		plan:     plan.Guest{Ref: ref(guest.VirtualMachine, "web-20", 231), Node: "pve1", Managed: true, Origin: at("guests/web.yaml", 20, 1), Steps: []plan.Step{restart}},
		verdicts: []gate.Verdict{gate.NewWithheld("it is in batch 5 of 11 of Rollout/web; batch 3 has failed: VirtualMachine/web-7: it does not run", "remove the cause")},
	}
}

// taskHangs is on a node whose tasks do not end.
func taskHangs() plannedGuest {
	start := step(cluster.OpStart, guest.Live, "start")
	start.Calls = []cluster.Call{{Op: cluster.OpStart, Node: "pve1"}}
	return plannedGuest{
		plan:     plan.Guest{Ref: ref(guest.VirtualMachine, "files-2", 220), Node: "pve1", Managed: true, Origin: at("guests/files.yaml", 20, 1), Steps: []plan.Step{start}},
		verdicts: []gate.Verdict{held(reason.TaskHangs, "2 tasks hang on pve1", "look at the tasks of this node in Proxmox, and stop those that will not end")},
	}
}

// unstarted is a guest that was never started, with what keeps it from being started.
func unstarted(name string, vmid int, hindrance gate.Verdict) plannedGuest {
	start := step(cluster.OpStart, guest.Live, "state: running")
	start.Calls = []cluster.Call{{Op: cluster.OpStart, Node: "pve1"}}
	return plannedGuest{
		plan:     plan.Guest{Ref: ref(guest.Container, name, vmid), Node: "pve1", Managed: true, Origin: at("guests/"+name+".yaml", 1, 1), Steps: []plan.Step{start}},
		verdicts: []gate.Verdict{hindrance},
	}
}

// ownGuest is the guest in which the agent runs.
func ownGuest() plannedGuest {
	shutdown := step(cluster.OpShutdown, guest.Disruptive, "state: stopped")
	shutdown.Calls = []cluster.Call{{Op: cluster.OpShutdown, Node: "pve1"}}
	return plannedGuest{
		plan: plan.Guest{Ref: ref(guest.VirtualMachine, "ops-1", 225), Node: "pve1", Managed: true, Origin: at("guests/ops.yaml", 1, 1), Steps: []plan.Step{shutdown}},
		verdicts: []gate.Verdict{held(reason.OwnGuest, "the agent runs in guest 225, and would stop itself",
			"do it by hand in Proxmox; if the agent runs elsewhere, set proxmox.self_vmid in its config")},
	}
}

// onUnavailableNodes is a guest whose nodes get no work now.
func onUnavailableNodes() plannedGuest {
	create, start := step(cluster.OpCreate, guest.Live, "does not exist"), step(cluster.OpStart, guest.Live, "state: running")
	create.TakesOwnership, create.Calls = true, []cluster.Call{{Op: cluster.OpCreate, Node: "pve2"}}
	start.Calls = []cluster.Call{{Op: cluster.OpStart, Node: "pve3"}}
	return plannedGuest{
		plan: plan.Guest{Ref: ref(guest.VirtualMachine, "files-3", 226), Node: "pve2", WhyNode: "least memory of 3 that fit: 2.0 GiB of 64.0 GiB are taken", Managed: true, Origin: at("guests/files.yaml", 30, 1), Steps: []plan.Step{create, start}},
		verdicts: []gate.Verdict{
			held(reason.Window, "node pve2 is in maintenance", "end the maintenance when it is done: ha-manager crm-command node-maintenance disable pve2"),
			held(reason.NodeOffline, "node pve3 is offline", "start the node, or wait until it is back; the agent creates nothing on another node instead"),
		},
	}
}

// heldByPolicy has too much memory, and breaks a rule about which people are only told.
func heldByPolicy() plannedGuest {
	memory := guest.Change{Key: "memory", From: "4096", To: "131072", Class: guest.Live, Write: guest.WriteSet, Origin: at("guests/web-8.yaml", 7, 18)}
	verdict := held(reason.Policy, "policy team-web-memory denies it: guests of team web have at most 64 GiB, and web-8 has 128 GiB",
		"correct what the policy is about; approvals have no effect")
	verdict.Policies = []policy.Finding{
		{Policy: "team-web-memory", Result: policy.Deny, Message: "guests of team web have at most 64 GiB, and web-8 has 128 GiB"},
		{Policy: "no-iso-left", Result: policy.Warn, Message: "ide2 contains local:iso/debian-12.iso"},
	}
	return plannedGuest{
		plan: plan.Guest{
			Ref: ref(guest.VirtualMachine, "web-8", 218), Node: "pve1", Managed: true, Origin: at("guests/web-8.yaml", 1, 1), Changes: []guest.Change{memory},
			Steps: []plan.Step{step(cluster.OpConfig, guest.Live, "configuration differs", memory)},
		},
		verdicts: []gate.Verdict{verdict},
	}
}

// outOfScope attaches a volume of a guest that its signer may not touch.
func outOfScope() plannedGuest {
	attach := step(cluster.OpConfig, guest.Live, "")
	attach.Changes = []guest.Change{{Key: "scsi1", To: "local-lvm:vm-1000-disk-0", Class: guest.Live, Write: guest.WriteSet, Origin: at("guests/web-9.yaml", 9, 5)}}
	attach.Calls = []cluster.Call{{Op: cluster.OpConfig, Params: map[string]string{"scsi1": "local-lvm:vm-1000-disk-0"}}}
	return plannedGuest{
		plan: plan.Guest{Ref: ref(guest.VirtualMachine, "web-9", 224), Node: "pve1", Managed: true, Origin: at("guests/web-9.yaml", 1, 1), Changes: attach.Changes, Steps: []plan.Step{attach}},
		verdicts: []gate.Verdict{held(reason.Scope, "signer wanda wrote scsi1 in commit 1f2e3d4 and may not touch local-lvm:vm-1000-disk-0, which belongs to vmid 1000",
			`let a signer without guests write scsi1, or add vmids: ["1000"] to the entry wanda of trust.signers on the agent's host and restart the agent`)},
	}
}

func emptyDesired() plannedGuest {
	return destroy("old-2", 214, held(reason.DestroyLimit, "no manifest names any guest, and an empty desired set never prunes", "check source.paths and the repository"))
}

// several is a guest with three steps, all held for one reason.
func several(name string, vmid int, verdict gate.Verdict) plannedGuest {
	cores := guest.Change{Key: "cores", From: "2", To: "4", Class: guest.Restart, Write: guest.WriteSet, Note: "restart needed", Origin: at("guests/"+name+".yaml", 7, 9)}
	grow := guest.Change{Key: "scsi0", From: "size=8G", To: "size=16G", Class: guest.Live, Write: guest.WriteResize, Note: "grows, which cannot be undone", Origin: at("guests/"+name+".yaml", 9, 5)}
	return plannedGuest{
		plan: plan.Guest{
			Ref: ref(guest.VirtualMachine, name, vmid), Node: "pve1", Managed: true, Origin: at("guests/"+name+".yaml", 1, 1), Changes: []guest.Change{cores, grow},
			Steps: []plan.Step{
				step(cluster.OpConfig, guest.Restart, "configuration differs", cores), step(cluster.OpResize, guest.Live, "disk is smaller than wanted", grow),
				step(cluster.OpShutdown, guest.Disruptive, "state: stopped"),
			},
		},
		verdicts: []gate.Verdict{verdict, verdict, verdict},
	}
}

func observed() plannedGuest {
	return several("erp", 220, held(reason.ManifestForbids, "the manifest says mode: observe", "set spec.mode: enforce"))
}

func suspendedGuest() plannedGuest {
	p := several("ci", 221, held(reason.Suspended, "suspended by olga until 2026-04-01T00:00:00Z: migration", "remove spec.suspend"))
	p.plan.Conditions = []plan.Condition{{Type: plan.Suspended, Reason: "suspended", Message: "suspended by olga until 2026-04-01T00:00:00Z: migration", Hint: "remove spec.suspend"}}
	return p
}

func writesStopped() plannedGuest {
	return several("git", 222, held(reason.WritesStopped, "cluster: cluster sim has no quorum", ""))
}

func adopted() plannedGuest {
	claim := step(cluster.OpConfig, guest.Live, "adopt", guest.Change{Key: "tags", To: "ownership marker", Class: guest.Live, Write: guest.WriteSet, Note: "adopt"})
	claim.TakesOwnership = true
	return plannedGuest{plan: plan.Guest{Ref: ref(guest.VirtualMachine, "legacy", 230), Node: "pve1", Managed: true, Origin: at("guests/legacy.yaml", 1, 1), Steps: []plan.Step{claim}}}
}

// inWindow has steps that are not held, and a restart that waits for its maintenance window.
func inWindow() plannedGuest {
	p := several("nas", 223, gate.Verdict{})
	p.verdicts = append(p.verdicts[:2], held(reason.Window, "its window opens at 2026-03-07T02:00:00Z", "wait, or widen lifecycle.window"))
	p.plan.Steps = []plan.Step{p.plan.Steps[0], step(cluster.OpStop, guest.Disruptive, "state: stopped"), step(cluster.OpReboot, guest.Disruptive, "written changes wait for a restart")}
	p.plan.Changes = p.plan.Changes[:1]
	return p
}

func imageFile() plannedGuest {
	file := guest.Change{Key: "file on pve1", To: "local:import/debian-13-9f86d081884c.qcow2", Class: guest.Live, Write: guest.WriteSet, Origin: at("images.yaml", 1, 1)}
	return plannedGuest{plan: plan.Guest{
		Ref: ref(image.Kind, "debian-13", 0), Managed: true, Origin: at("images.yaml", 1, 1), Changes: []guest.Change{file},
		Steps: []plan.Step{step(cluster.OpDownload, guest.Live, "it is not on pve1", file)},
	}}
}

func formerFile() plannedGuest {
	s := step(cluster.OpDeleteFile, guest.Destructive, "removed from the repository")
	s.Volumes = []string{"local:iso/debian-12-0123456789ab.iso"}
	return plannedGuest{plan: plan.Guest{
		Ref: ref(image.Kind, "debian-12", 0), Present: true, Steps: []plan.Step{s},
		Conditions: []plan.Condition{{Type: plan.Warned, Reason: reason.InUse, Message: "local:iso/debian-12-ba9876543210.iso stays on pve1: VirtualMachine/web-1 (201) has it as ide2"}},
	}}
}

func pool() plannedGuest {
	comment := guest.Change{Key: "comment", From: "web gitops-0011aabb", To: "web servers gitops-0011aabb", Class: guest.Live, Write: guest.WriteSet, Origin: at("pools.yaml", 5, 12)}
	added := guest.Change{Key: "comment", To: "database servers gitops-4455eeff", Class: guest.Live, Write: guest.WriteSet, Origin: at("pools.yaml", 11, 12)}
	return plannedGuest{plan: plan.Guest{
		Ref: ref("Pool", "web", 0), Managed: true, Origin: at("pools.yaml", 1, 1), Changes: []guest.Change{comment, added},
		Steps: []plan.Step{step(cluster.OpObjectSet, guest.Live, "it differs from its manifest", comment), step(cluster.OpObjectAdd, guest.Live, "it does not exist", added)},
	}}
}

func orphanedPool() plannedGuest {
	return plannedGuest{
		plan: plan.Guest{
			Ref: ref("Pool", "old", 0), Conditions: []plan.Condition{{Type: plan.Orphaned, Reason: reason.LeftOver, Message: "no manifest describes the pool old any more"}},
			Steps: []plan.Step{step(cluster.OpObjectRemove, guest.Destructive, "removed from the repository")},
		},
		verdicts: []gate.Verdict{approval("it removes the object: 0 of 1 approvals", firstDigest)},
	}
}

func converted() plannedGuest {
	template := guest.Change{Key: "template", To: "1", Class: guest.Disruptive, Write: guest.WriteTemplate, Note: "cannot be undone", Origin: at("guests/golden.yaml", 6, 3)}
	ha := guest.Change{Key: "ha", From: "started, restart 1, relocate 1", Class: guest.Live, Write: guest.WriteHA, Value: "remove", Origin: at("guests/golden.yaml", 7, 3)}
	return plannedGuest{
		plan: plan.Guest{
			Ref: ref(guest.VirtualMachine, "golden", 240), Node: "pve1", Managed: true, Origin: at("guests/golden.yaml", 1, 1), Changes: []guest.Change{ha, template},
			Steps: []plan.Step{step(cluster.OpHARemove, guest.Live, "HA is not wanted", ha), step(cluster.OpTemplate, guest.Disruptive, "a template is wanted", template)},
		},
		verdicts: []gate.Verdict{{}, approval("it turns the guest into a template for good: 0 of 1 approvals", firstDigest)},
	}
}

func blocked(name string, vmid int, c plan.Condition) plannedGuest {
	return plannedGuest{plan: plan.Guest{Ref: ref(guest.VirtualMachine, name, vmid), Node: "pve1", Managed: true, Origin: at("guests/"+name+".yaml", 1, 1), Conditions: []plan.Condition{c}}}
}

func stranger() plannedGuest {
	return blocked("crm", 250, plan.Condition{Type: plan.IdentityConflict, Reason: "not-managed", Message: "vmid 250 exists and is not managed by this agent", Hint: "set spec.adopt: ifUnmanaged to take it over, or choose another vmid"})
}

func locked() plannedGuest {
	return blocked("backup", 251, plan.Condition{Type: plan.Blocked, Reason: reason.Locked, Message: "the guest is locked (backup)", Hint: "wait for the task that holds it"})
}

func unreadGuest() plannedGuest {
	p := blocked("far", 252, plan.Condition{Type: plan.NotObserved, Reason: "not-observed", Message: "the guest could not be read: GET /nodes/pve3/qemu/252/pending: 595 No route to host"})
	p.age = 3 * time.Minute
	return p
}

func waitingGuest() plannedGuest {
	p := blocked("mail", 253, plan.Condition{Type: plan.PendingRestart, Reason: "pending-restart", Message: "written, in effect after the next stop and start: cores", Hint: "stop and start the guest from Proxmox; a reboot from inside the guest is not enough"})
	p.plan.Changes = []guest.Change{{Key: "cores", From: "2", To: "4", Class: guest.Restart, Waits: true, Write: guest.WriteNone, Note: "restart needed", Origin: at("guests/mail.yaml", 7, 9)}}
	return p
}

func forgotten() plannedGuest {
	p := blocked("lost", 254, plan.Condition{Type: plan.WaitsFor, Reason: "dependency", Message: "it depends on a guest that is not there"})
	p.plan.Managed = false
	return p
}

func missingPrivilege() plannedGuest {
	return blocked("gpu", 255, plan.Condition{Type: plan.Blocked, Reason: "privilege", Message: "hostpci0: the token lacks Mapping.Use on /mapping/pci/gpu", Hint: "pveum acl modify /mapping/pci/gpu --tokens 'gitops@pve!agent' --roles PVEMappingUser"})
}

// The fixture contains every operation, every hold and every class, so that the golden files show each.
func TestPlanFixtureIsComplete(t *testing.T) {
	t.Parallel()
	ops, holds, classes := map[cluster.Op]bool{}, map[reason.Name]bool{}, map[guest.Class]bool{}
	for _, g := range fixtureDocument().Guests {
		for _, s := range g.Steps {
			ops[s.Op] = true
			if s.Held != nil {
				holds[s.Held.Reason] = true
			}
		}
		for _, c := range g.Changes {
			classes[c.Class] = true
		}
	}
	for _, op := range cluster.Ops() {
		if !ops[op] && !op.IsOrderOnly() {
			t.Errorf("got no step %s", op)
		}
	}
	for _, reason := range reason.Holds() {
		if !holds[reason] {
			t.Errorf("got no step held for %s", reason)
		}
	}
	for _, class := range guest.Classes() {
		if !classes[class] {
			t.Errorf("got no change of class %s", class)
		}
	}
}
