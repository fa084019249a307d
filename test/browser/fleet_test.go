//go:build integration

package browser

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gitops-agent/gitsource/fault"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/history"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// The commits of the fleet's branch.
const (
	commitInForce = "3f2a1c94d07b5f2e6a8c1b0d9e4f7a6b5c3d2e1f"
	commitBefore  = "b81e07d2a94c6f3510e2d7c8b9a0f1e2d3c4b5a6"
	commitRefused = "9be1d7720c4f4a1d8e3b6f5a2c1d0e9f8b7a6c5d"
	commitForced  = "41c70aa5be92d8f06e1c3b7d5f9a2e8c4d6b0f13"
	inForce       = "main@sha1:" + commitInForce
	stepDigest    = "5d0f1c2b3a49586776859403a2b1c0df"
)

// fleet is all that the status page shows of a cluster.
type fleet struct {
	report  report.Report
	history *history.Index
	now     time.Time
}

// newFleet returns a cluster with a number of guests, at least 48. There is a guest for each kind of problem, and one guest in 40 has one.
func newFleet(guests int) fleet {
	f := fleet{now: time.Now().Truncate(time.Second), history: &history.Index{}}
	f.report = report.Report{
		Time: f.ago(2 * time.Second), Cluster: "pve-prod", Cycle: 48210,
		Source: report.Source{
			Branch: "main", Reason: fault.None, Remote: "https://git.example.org/infra/guests.git", Head: commitRefused, HeadSeen: f.ago(8 * time.Minute),
			LastSuccess: f.ago(12 * time.Second),
			Remotes: []report.Remote{
				{URL: "https://git.example.org/infra/guests.git", State: report.RemoteAnswers, Since: f.ago(50 * time.Hour), Answered: f.ago(12 * time.Second)},
				{URL: "ssh://git@mirror.example.org/infra/guests.git", State: report.RemoteAnswers, Since: f.ago(time.Hour), Answered: f.ago(12 * time.Second)},
			},
			Accepted: &report.Revision{
				Commit: commitInForce, Revision: inForce, Subject: "alice@example.org", Issuer: "https://accounts.example.org",
				ProvenTime: f.ago(53 * time.Minute), AcceptedAt: f.ago(52 * time.Minute),
			},
			Refused: &report.Refused{
				Commit: commitRefused, Reason: "unsigned", Error: "reject 9be1d77: commit is not signed", Since: f.ago(8 * time.Minute),
				Hint: "sign it with gitsign: git config gpg.format x509, gpg.x509.program gitsign, commit.gpgsign true, gitsign.rekorMode offline",
			},
		},
		Writes: report.Writes{Allowed: true, Reason: reason.WritesAllowed},
		Guards: &report.Guards{Approvals: 1, MaxDestroysPerDay: 5, Minimum: []string{"approvals: at least 1"}},
		Proxmox: report.Proxmox{
			Ready: true, Reason: cluster.OutageNone, LastSuccess: f.ago(2 * time.Second),
			Endpoints: []cluster.Endpoint{
				{Address: "pve1.example.org:8006", State: cluster.EndpointUp, Since: f.ago(time.Hour), Current: true},
				{Address: "pve2.example.org:8006", State: cluster.EndpointUnknown},
			},
		},
		Journal: report.Journal{Healthy: true, Reason: journal.FaultNone}, QueueDepth: 1,
		Unmanaged: []report.GuestName{
			{Kind: guest.VirtualMachine, VMID: 9000, Name: "tmpl-debian-12", Node: "pve1"}, {Kind: guest.Container, VMID: 9107, Node: "pve2"},
		},
	}
	for i := range guests {
		f.report.Guests = append(f.report.Guests, f.healthy(i))
	}
	problems := []func(g *report.Guest){f.drifted, f.toDestroy, f.failed, f.pendingRestart, f.missing, f.suspended, f.unread, f.conflicting, f.changing}
	for i, add := range problems {
		add(&f.report.Guests[3+5*i])
	}
	for i := 83; i < guests; i += 40 {
		problems[i/40%len(problems)](&f.report.Guests[i])
	}
	f.report.Orders = f.orders()
	f.remember()
	return f
}

// orders returns one-shot operations in every state, most of them of the guest in trouble.
func (f fleet) orders() []report.Order {
	g := f.report.Guests[8].GuestName
	order := func(operation string, state journal.OrderState, age time.Duration, change func(o *report.Order)) report.Order {
		o := report.Order{
			Order: strings.Replace(operation, "GUEST", g.Label(), 1), Guest: g.Label(), VMID: g.VMID, Signer: "otto@example.org", Commit: commitInForce,
			Proven: f.ago(age + time.Minute), State: state, Changed: f.ago(age),
		}
		change(&o)
		return o
	}
	const upid = "UPID:pve1:0003E1C0:1A2B3C4D:6B02B295:%s:1008:gitops@pve!agent:"
	return []report.Order{
		order("rollback GUEST name=before-upgrade", journal.OrderSeen, time.Minute, func(o *report.Order) {
			o.Why, o.Digest = "rolls the guest back to the snapshot before-upgrade of 2026-11-20 18:04:11", stepDigest
			o.Hint = "approve it with a signed commit"
		}),
		order("reboot GUEST", journal.OrderSeen, 2*time.Minute, func(o *report.Order) { o.Why = "Blocked: the guest is locked (backup)" }),
		order("backup GUEST storage=pbs mode=snapshot", journal.OrderReleased, 3*time.Minute, func(o *report.Order) { o.UPID = fmt.Sprintf(upid, "vzdump") }),
		order("backup GUEST storage=nas", journal.OrderRun, time.Hour, func(o *report.Order) {
			o.UPID, o.Volume = fmt.Sprintf(upid, "vzdump"), "nas:backup/vzdump-qemu-1008-2026_11_20-18_04_11.vma.zst"
			o.Log = "INFO: Finished Backup of VM 1008 (00:01:12)\nINFO: Backup job finished successfully\nTASK OK"
		}),
		order("start GUEST", journal.OrderFailed, 2*time.Hour, func(o *report.Order) {
			o.Why, o.Hint, o.UPID = "the task failed: start failed: QEMU exited with code 1", "it is not tried again: remove the cause, and sign a new order", fmt.Sprintf(upid, "qmstart")
			o.Log = "kvm: -drive file=/dev/zvol/rpool/data/vm-1008-disk-0,if=none,id=drive-scsi0,cache=none,aio=io_uring: Could not open\nTASK ERROR: start failed: QEMU exited with code 1"
		}),
		order("shutdown GUEST", journal.OrderRefused, 3*time.Hour, func(o *report.Order) {
			o.Why, o.Hint = "the manifest wants the guest running; for=2h overrides that for two hours", "nothing was done: remove the cause, and sign a new order if it is still needed"
		}),
		order("promote Rollout/web", journal.OrderRefused, 4*time.Hour, func(o *report.Order) {
			o.Guest, o.VMID, o.Why = "", 0, "got operation promote, want one of backup, delete-snapshot, migrate, reboot, reset, resume, rollback, shutdown, snapshot, start, stop, suspend"
		}),
		order("stop GUEST", journal.OrderExpired, 30*time.Hour, func(o *report.Order) {
			o.Why, o.Hint = "it was not used within seven days", "sign a new order if it is still needed"
		}),
		order("reset GUEST", journal.OrderUnknown, 50*time.Hour, func(o *report.Order) {
			o.Why, o.Hint = "its call has no task, so it may have been executed or not", "look at the guest, and sign a new order if it is still needed"
		}),
	}
}

func (f fleet) ago(d time.Duration) time.Time { return f.now.Add(-d) }

// guestOf returns the first guest in a state.
func (f fleet) guestOf(matches func(report.Guest) bool) report.Guest {
	return f.report.Guests[slices.IndexFunc(f.report.Guests, matches)]
}

// healthy returns the guest with an index. Eight guests are a service, whose guests depend on each other in every second service.
func (f fleet) healthy(i int) report.Guest {
	services := []string{"shop", "billing", "wiki", "mail", "search", "metrics", "builds", "identity"}
	roles := []struct {
		name string
		kind guest.Kind
		on   []int // roles that it depends on
	}{
		{"db-1", guest.VirtualMachine, nil},
		{"cache", guest.Container, nil},
		{"queue", guest.Container, nil},
		{"app-1", guest.VirtualMachine, []int{0, 1, 2}},
		{"app-2", guest.VirtualMachine, []int{0, 1, 2}},
		{"web-1", guest.Container, []int{3, 4}},
		{"web-2", guest.Container, []int{3, 4}},
		{"jobs", guest.VirtualMachine, []int{0, 2}},
	}
	service, role := i/len(roles), roles[i%len(roles)]
	name := func(role string) string {
		if service < len(services) {
			return services[service] + "-" + role
		}
		return fmt.Sprintf("%s-%d-%s", services[service%len(services)], service/len(services)+1, role)
	}
	g := report.Guest{
		GuestName: report.GuestName{Kind: role.kind, Name: name(role.name), VMID: 1000 + i, Node: fmt.Sprintf("pve%d", 1+i%5)}, Managed: true,
		Sync: report.Synced, Health: report.Healthy, Operation: report.Idle, Status: guest.StatusRunning, Tags: []string{"prod", services[service%len(services)]},
		ObservedAt: f.ago(time.Duration(2+i%58) * time.Second), Converged: f.ago(2 * time.Second), Revision: inForce,
	}
	if service%3 == 2 {
		g.Tags[0] = "staging"
	}
	if service%2 == 0 {
		for _, on := range role.on {
			g.DependsOn = append(g.DependsOn, string(roles[on].kind)+"/"+name(roles[on].name))
		}
	}
	return g
}

func (f fleet) drifted(g *report.Guest) {
	g.Sync, g.Health, g.Operation, g.DriftSince, g.Converged = report.OutOfSync, report.Progressing, report.Busy, f.ago(90*time.Second), f.ago(105*time.Second)
	g.Changes = []report.Change{
		{Key: "memory", From: "2048", To: "4096", Class: guest.Live, Note: "hotplug", Origin: "guests/" + g.Name + ".yaml:12:5"},
		{Key: "net0", From: "bridge=vmbr1,firewall=1,model=virtio,tag=30", To: "bridge=vmbr0,firewall=1,model=virtio,tag=20", Class: guest.Disruptive, Note: "link flap", Origin: "guests/" + g.Name + ".yaml:20:7"},
		{Key: "tags", From: "web", Class: guest.Live},
	}
	g.Conditions = []plan.Condition{{Type: plan.Drifted, Reason: reason.Differs, Message: "the guest is not as its manifest says", Since: g.DriftSince, Revision: inForce}}
}

func (f fleet) toDestroy(g *report.Guest) {
	g.Managed, g.Sync, g.Operation, g.DriftSince = false, report.OutOfSync, report.Waiting, f.ago(3*time.Hour)
	g.Held = []report.HeldStep{{
		Op: cluster.OpDestroy, Class: guest.Destructive, Digest: stepDigest, Since: g.DriftSince, Hold: report.Hold{
			Reason: reason.Approval, Message: "it destroys the guest and its volumes: 0 of 1 approvals", Hint: "gitops-agent approve " + stepDigest,
			Uncounted: []gate.Uncounted{{
				Reason: gate.UncountedRole, Signer: "ops", Subject: "olga@example.org",
				Message: "approval by olga@example.org does not count: the entry ops of trust.signers lacks the role approve",
			}},
		},
	}}
	g.Conditions = []plan.Condition{
		{Type: plan.Orphaned, Reason: reason.LeftOver, Message: "removed from the repository", Since: g.DriftSince},
		{Type: plan.Held, Reason: reason.Approval, Message: "destroy: it destroys the guest and its volumes", Digest: stepDigest, Since: g.DriftSince},
	}
}

func (f fleet) failed(g *report.Guest) {
	g.Sync, g.Health, g.Status, g.DriftSince, g.NextTry = report.OutOfSync, report.Degraded, guest.StatusStopped, f.ago(26*time.Hour), f.now.Add(4*time.Minute)
	g.Conditions = []plan.Condition{{
		Type: plan.Failed, Reason: "start", Since: g.DriftSince,
		Message: fmt.Sprintf("start of %s (%d): task UPID:%s:0003A7F2:01C9D3A1:69BFD0C0:vzstart:%[2]d:root@pam!gitops:: startup for container '%[2]d' failed\n", g.Label(), g.VMID, g.Node) +
			fmt.Sprintf("run_buffer: 571 Script exited with status 2\nlxc_init: 845 Failed to run lxc.hook.pre-start for container \"%d\"", g.VMID),
	}}
}

func (f fleet) pendingRestart(g *report.Guest) {
	g.Sync, g.DriftSince = report.OutOfSync, f.ago(40*time.Minute)
	g.Changes = []report.Change{{Key: "cpu", From: "kvm64", To: "host", Class: guest.Restart, Note: "restart needed", Waits: true, Origin: "classes.yaml:14:3"}}
	g.Conditions = []plan.Condition{{
		Type: plan.PendingRestart, Reason: reason.PendingRestart, Message: "written, in effect after the next stop and start: cpu",
		Hint: "stop and start the guest from Proxmox; a reboot from inside the guest is not enough", Since: g.DriftSince,
	}}
}

func (f fleet) missing(g *report.Guest) {
	g.VMID, g.Node, g.Tags, g.Status, g.ObservedAt, g.Converged, g.Revision = 0, "", nil, "", time.Time{}, time.Time{}, ""
	g.Sync, g.Health, g.Operation, g.DriftSince = report.OutOfSync, report.Missing, report.Waiting, f.ago(20*time.Second)
	g.Changes = []report.Change{{Key: "cores", To: "2", Class: guest.Live, Origin: "guests/" + g.Name + ".yaml:31:5"}}
	g.Held = []report.HeldStep{{
		Op: cluster.OpCreate, Class: guest.Live, Since: g.DriftSince,
		Hold: report.Hold{Reason: reason.WaitsFor, Message: "it depends on a guest that is not running yet"},
	}}
}

func (f fleet) suspended(g *report.Guest) {
	g.Health = report.HealthSuspended
	g.Conditions = []plan.Condition{{Type: plan.Suspended, Reason: reason.Suspended, Message: "suspended by alice@example.org: move to the new storage", Since: f.ago(5 * 24 * time.Hour)}}
}

func (f fleet) unread(g *report.Guest) {
	g.Sync, g.Health, g.ObservedAt, g.Stale = report.SyncUnknown, report.Degraded, f.ago(9*time.Minute), true
	g.Conditions = []plan.Condition{{
		Type: plan.NotObserved, Reason: reason.NodeOffline, Message: "its node " + g.Node + " is offline",
		Hint: "start the node, or wait until it is back; the agent does not create the guest on another node", Since: f.ago(8 * time.Minute),
	}}
}

func (f fleet) conflicting(g *report.Guest) {
	g.Sync, g.Health, g.DriftSince, g.Converged, g.Revision = report.OutOfSync, report.Degraded, f.ago(5*24*time.Hour), time.Time{}, ""
	g.Conditions = []plan.Condition{{
		Type: plan.IdentityConflict, Reason: reason.NotManaged, Message: fmt.Sprintf("vmid %d exists and is not managed by this agent", g.VMID),
		Hint: "set spec.adopt: ifUnmanaged to take it over, or choose another vmid", Since: g.DriftSince,
	}}
}

// changing is a guest whose restart waits for an approval.
func (f fleet) changing(g *report.Guest) {
	g.Sync, g.Operation, g.DriftSince = report.OutOfSync, report.Waiting, f.ago(50*time.Minute)
	g.Changes = []report.Change{{Key: "scsi0", From: "size=32G", To: "size=16G", Class: guest.Destructive, Note: "the disk is replaced", Origin: "guests/" + g.Name + ".yaml:24:5"}}
	digest := fmt.Sprintf("%032x", 0xa11ce0000+g.VMID)
	g.Held = []report.HeldStep{{
		Op: cluster.OpConfig, Class: guest.Destructive, Digest: digest, Since: g.DriftSince,
		Hold: report.Hold{Reason: reason.Approval, Message: "it replaces a disk: 0 of 1 approvals", Hint: "gitops-agent approve " + digest},
	}}
	g.Conditions = []plan.Condition{{Type: plan.Held, Reason: reason.Approval, Message: "config: it replaces a disk", Digest: digest, Since: g.DriftSince}}
}

// remember fills the history: an older revision, refused ones, and steps of the first guests.
func (f fleet) remember() {
	add := func(age time.Duration, b journal.Body) { f.history.Add(journal.Record{Time: f.ago(age), Body: b}) }
	accept := func(age time.Duration, commit, subject string) {
		add(age, journal.Accepted{Commit: commit, Branch: "main", Subject: subject, Issuer: "https://accounts.example.org", ProvenTime: f.ago(age + time.Minute)})
	}
	step := func(age time.Duration, id, commit string, g report.Guest, op, class, failure string) {
		add(age, journal.Begun{Step: id, VMID: g.VMID, Kind: string(g.Kind), Name: g.Name, Node: g.Node, Op: op, Class: class, Revision: "main@sha1:" + commit})
		add(age, journal.Dispatched{Step: id, UPID: fmt.Sprintf("UPID:%s:0003A7F2:01C9D3A1:69BFD0C0:qm%s:%d:gitops@pve!agent:", g.Node, op, g.VMID)})
		result := journal.Done
		if failure != "" {
			result = journal.Failed
		}
		add(age-4*time.Second, journal.Ended{Step: id, Result: result, Error: failure})
	}
	accept(50*time.Hour, commitBefore, "bob@example.org")
	for i := range 12 {
		step(50*time.Hour-time.Duration(i)*time.Second, fmt.Sprint("old", i), commitBefore, f.report.Guests[i], "config", "live", "")
	}
	add(49*time.Hour, journal.Event{Name: event.RecordConverged, Revision: "main@sha1:" + commitBefore})
	add(30*time.Hour, journal.Event{
		Name: event.RecordRefused, Revision: commitForced, Message: "not-descendant",
		Detail: "reject 41c70aa: the commit does not descend from the last accepted one", Hint: "if the history was rewritten on purpose: gitops-agent allow-rewrite COMMIT",
	})
	accept(52*time.Minute, commitInForce, "alice@example.org")
	for i := range 5 {
		step(time.Duration(50-i)*time.Minute, fmt.Sprint("new", i), commitInForce, f.report.Guests[i], "config", "live", "")
	}
	add(40*time.Minute, journal.Event{Name: "drifted", VMID: f.report.Guests[3].VMID, Message: "cluster: memory, net0", Revision: inForce})
	failed := f.guestOf(func(g report.Guest) bool { return g.Health == report.Degraded && g.Status == guest.StatusStopped })
	step(20*time.Minute, "failed", commitInForce, failed, "start", "restart", fmt.Sprintf("startup for container '%d' failed", failed.VMID))
	add(8*time.Minute, journal.Event{Name: event.RecordRefused, Revision: commitRefused, Message: "unsigned"})
}

// values returns the configuration of a guest.
func (f fleet) values(g report.Guest) []report.Value {
	if g.VMID == 0 {
		return []report.Value{{Key: "cores", Desired: "2", Differs: true, Origin: "guests/" + g.Name + ".yaml:31:5"}}
	}
	file := "guests/" + g.Name + ".yaml:"
	list := []report.Value{
		{Key: "agent", Live: "1"},
		{Key: "balloon", Live: "0"},
		{Key: "boot", Live: "order=scsi0;net0"},
		{Key: "cipassword", Desired: report.Concealed, Live: report.Concealed, Origin: file + "17:5"},
		{Key: "cores", Desired: "4", Live: "4", Origin: file + "11:5"},
		{Key: "description", Desired: "front end of the shop, see the wiki page with the long name that has no space in it: https://wiki.example.org/display/INFRA/front-end-of-the-shop-and-what-to-do-when-it-is-slow", Live: "front end", Differs: true, Origin: file + "9:3"},
		{Key: "memory", Desired: "4096", Live: "2048", Next: "4096", Waits: true, Differs: true, Origin: file + "12:5"},
		{Key: "net0", Desired: "bridge=vmbr0,firewall=1,tag=20", Live: "virtio=BC:24:11:2E:90:AA,bridge=vmbr1,firewall=1,tag=30", Differs: true, Origin: file + "20:7"},
		{Key: "scsi0", Desired: "size=32G", Live: "ceph-ssd:vm-" + fmt.Sprint(g.VMID) + "-disk-0,discard=on,iothread=1,size=32G,ssd=1", Origin: file + "24:5"},
		{Key: "scsi1", Absent: true, Origin: file + "28:5"},
		{Key: "tags", Desired: strings.Join(g.Tags, ";"), Live: strings.Join(g.Tags, ";"), Origin: "classes.yaml:6:3"},
	}
	if len(g.Changes) == 0 {
		for i, v := range list {
			if v.Differs {
				list[i].Live, list[i].Next, list[i].Waits, list[i].Differs = v.Desired, "", false, false
			}
		}
	}
	return list
}
