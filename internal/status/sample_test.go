package status_test

import (
	"time"

	"gitops-agent/gitsource/fault"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// noon is when the sample reports are made.
var noon = time.Date(2026, time.March, 22, 12, 0, 0, 0, time.UTC)

const (
	commitInForce = "3f2a1c94d07b5f2e6a8c1b0d9e4f7a6b5c3d2e1f"
	commitRefused = "9be1d7720c4f4a1d8e3b6f5a2c1d0e9f8b7a6c5d"
	inForce       = "main@sha1:" + commitInForce
	stepDigest    = "5d0f1c2b3a49586776859403a2b1c0df"
)

// steady is the report of a small cluster where all is well.
func steady() report.Report {
	r := report.Report{
		Time: noon.Add(-4 * time.Second), Cluster: "pve-lab", Cycle: 4711, Converged: true,
		Source: report.Source{
			Branch: "main", Reason: fault.None, Remote: "https://git.example.org/infra/guests.git", Head: commitInForce, HeadSeen: noon.Add(-50 * time.Hour),
			LastSuccess: noon.Add(-12 * time.Second),
			Remotes: []report.Remote{
				{URL: "https://git.example.org/infra/guests.git", State: report.RemoteAnswers, Since: noon.Add(-50 * time.Hour), Answered: noon.Add(-12 * time.Second)},
				{URL: "https://mirror.example.org/infra/guests.git", State: report.RemoteAnswers, Since: noon.Add(-time.Hour), Answered: noon.Add(-12 * time.Second)},
			},
			Accepted: &report.Revision{
				Commit: commitInForce, Revision: inForce, Subject: "alice@example.org", Issuer: "https://accounts.example.org",
				ProvenTime: noon.Add(-51 * time.Hour), AcceptedAt: noon.Add(-50 * time.Hour), Converged: noon.Add(-49 * time.Hour),
			},
		},
		Writes: report.Writes{Allowed: true, Reason: reason.WritesAllowed},
		Proxmox: report.Proxmox{
			Ready: true, Reason: cluster.OutageNone, LastSuccess: noon.Add(-4 * time.Second),
			VMList: &observe.VMListStatus{Path: "/etc/pve/.vmlist", ReadAt: noon.Add(-time.Second), Skipped: 4},
			Endpoints: []cluster.Endpoint{
				{Address: "pve1.lan:8006", State: cluster.EndpointUp, Since: noon.Add(-time.Hour), Current: true}, {Address: "pve2.lan:8006", State: cluster.EndpointUnknown},
			},
		},
		Journal: report.Journal{Healthy: true, Reason: journal.FaultNone},
		Unmanaged: []report.GuestName{
			{Kind: guest.VirtualMachine, VMID: 100, Name: "old-fileserver", Node: "pve1"}, {Kind: guest.Container, VMID: 107, Node: "pve2"},
		},
	}
	r.Guests = []report.Guest{
		synced(guest.Container, "dns-1", 201, "pve1"), synced(guest.Container, "dns-2", 202, "pve2"),
		synced(guest.VirtualMachine, "web-1", 211, "pve1"), synced(guest.VirtualMachine, "db-1", 221, "pve3"),
	}
	return r
}

func synced(kind guest.Kind, name string, vmid int, node string) report.Guest {
	return report.Guest{
		GuestName: report.GuestName{Kind: kind, Name: name, VMID: vmid, Node: node}, Managed: true, Sync: report.Synced, Health: report.Healthy,
		Operation: report.Idle, Status: guest.StatusRunning, ObservedAt: noon.Add(-time.Duration(vmid%60) * time.Second),
		Converged: noon.Add(-4 * time.Second), Revision: inForce,
	}
}

// troubled is a report of the same cluster with a refused head, and one guest for each kind of problem.
func troubled() report.Report {
	r := steady()
	r.Converged = false
	r.QueueDepth, r.Journal.Inflight = 2, 1
	r.Source.Head, r.Source.HeadSeen = commitRefused, noon.Add(-8*time.Minute)
	r.Source.Accepted.Converged = time.Time{}
	r.Source.Refused = &report.Refused{
		Commit: commitRefused, Reason: "unsigned", Error: "reject 9be1d77: commit is not signed",
		Hint:  "sign it with gitsign: git config gpg.format x509, gpg.x509.program gitsign, commit.gpgsign true, gitsign.rekorMode offline",
		Since: noon.Add(-8 * time.Minute),
	}
	r.Proxmox.Endpoints[0].State, r.Proxmox.Endpoints[0].Current, r.Proxmox.Endpoints[1].Current = cluster.EndpointDown, false, true
	r.Proxmox.Endpoints[0].Fault, r.Proxmox.Endpoints[0].Error = cluster.FaultUnauthorized, "GET /cluster/resources: 401 No ticket"
	r.Proxmox.Endpoints[0].Faults = map[cluster.EndpointFault]uint64{cluster.FaultUnauthorized: 1}
	r.Source.Remotes[1] = report.Remote{
		URL: r.Source.Remotes[1].URL, State: report.RemoteLate, Since: noon.Add(-time.Hour), Reason: fault.Late, Error: "no reply within 2s",
	}
	r.Proxmox.HAError = "list HA resources: 403 Forbidden: Permission check failed (/, Sys.Audit)"
	r.Proxmox.VMList = &observe.VMListStatus{Path: "/etc/pve/.vmlist", ReadAt: noon.Add(-5 * time.Minute), Error: "read list of guests: open /etc/pve/.vmlist: permission denied"}
	r.Guests[1].ObservedAt, r.Guests[1].Stale = noon.Add(-7*time.Minute), true
	r.Guests = append(r.Guests, drifted(), orphaned(), failed(), toBeCreated(), notManaged(), pendingRestart())
	return r
}

func drifted() report.Guest {
	g := synced(guest.VirtualMachine, "web-2", 212, "pve2")
	g.Sync, g.Health, g.Operation = report.OutOfSync, report.Progressing, report.Busy
	g.DriftSince, g.Converged = noon.Add(-90*time.Second), noon.Add(-105*time.Second)
	g.Changes = []report.Change{
		{Key: "memory", From: "2048", To: "4096", Class: guest.Live, Note: "hotplug", Origin: "guests/web.yaml:12:5"},
		{Key: "net0", From: "bridge=vmbr1,firewall=1,model=virtio,tag=30", To: "bridge=vmbr0,firewall=1,model=virtio,tag=20", Class: guest.Disruptive, Note: "link flap", Origin: "guests/web.yaml:20:7"},
		{Key: "tags", From: "web", To: "", Class: guest.Live},
	}
	g.Conditions = []plan.Condition{{Type: plan.Drifted, Reason: "differs", Message: "the guest is not as its manifest says", Since: noon.Add(-90 * time.Second), Revision: inForce}}
	return g
}

func orphaned() report.Guest {
	g := synced(guest.VirtualMachine, "batch-7", 307, "pve3")
	g.Managed, g.Sync, g.Operation, g.DriftSince = false, report.OutOfSync, report.Waiting, noon.Add(-3*time.Hour)
	g.Held = []report.HeldStep{{
		Op: cluster.OpDestroy, Class: guest.Destructive, Hold: report.Hold{
			Reason: reason.Approval, Message: "it destroys the guest and its volumes: 0 of 1 approvals", Hint: "gitops-agent approve " + stepDigest,
			Uncounted: []gate.Uncounted{{
				Reason: gate.UncountedRole, Signer: "ops", Subject: "olga@example.org",
				Message: "approval by olga@example.org does not count: the entry ops of trust.signers lacks the role approve",
			}},
		}, Digest: stepDigest, Since: noon.Add(-3 * time.Hour),
	}}
	g.Conditions = []plan.Condition{
		{Type: plan.Orphaned, Reason: "no-manifest", Message: "removed from the repository", Since: noon.Add(-3 * time.Hour)},
		{Type: plan.Held, Reason: "approval", Message: "destroy: it destroys the guest and its volumes", Digest: stepDigest, Since: noon.Add(-3 * time.Hour)},
	}
	return g
}

func failed() report.Guest {
	g := synced(guest.Container, "mail-1", 231, "pve1")
	g.Sync, g.Health, g.Status, g.DriftSince = report.OutOfSync, report.Degraded, guest.StatusStopped, noon.Add(-26*time.Hour)
	g.NextTry = noon.Add(4 * time.Minute)
	g.Conditions = []plan.Condition{{
		Type: plan.Failed, Reason: "start", Since: noon.Add(-26 * time.Hour),
		Message: "start of Container/mail-1 (231): task UPID:pve1:0003A7F2:01C9D3A1:69BFD0C0:vzstart:231:root@pam!gitops:: startup for container '231' failed\n" +
			"run_buffer: 571 Script exited with status 2\nlxc_init: 845 Failed to run lxc.hook.pre-start for container \"231\"",
	}}
	return g
}

func toBeCreated() report.Guest {
	return report.Guest{
		GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: "web-3"}, Managed: true, Sync: report.OutOfSync, Health: report.Missing, Operation: report.Waiting,
		DriftSince: noon.Add(-20 * time.Second),
		Changes:    []report.Change{{Key: "cores", To: "2", Class: guest.Live, Origin: "guests/web.yaml:31:5"}},
		Held: []report.HeldStep{{
			Op: cluster.OpCreate, Class: guest.Live, Since: noon.Add(-20 * time.Second),
			Hold: report.Hold{Reason: reason.WaitsFor, Message: "it depends on VirtualMachine/web-2, which is not running yet"},
		}},
	}
}

func notManaged() report.Guest {
	g := synced(guest.VirtualMachine, "backup-1", 241, "pve2")
	g.Sync, g.Health, g.DriftSince, g.Converged = report.OutOfSync, report.Degraded, noon.Add(-5*24*time.Hour), time.Time{}
	g.Conditions = []plan.Condition{{
		Type: plan.IdentityConflict, Reason: "not-managed", Message: "vmid 241 exists and is not managed by this agent",
		Hint: "set spec.adopt: ifUnmanaged to take it over, or choose another vmid", Since: noon.Add(-5 * 24 * time.Hour),
	}}
	return g
}

func pendingRestart() report.Guest {
	g := synced(guest.VirtualMachine, "db-2", 222, "pve1")
	g.Sync, g.DriftSince = report.OutOfSync, noon.Add(-40*time.Minute)
	g.Changes = []report.Change{{Key: "cpu", From: "kvm64", To: "host", Class: guest.Restart, Note: "restart needed", Origin: "classes.yaml:14:3"}}
	g.Conditions = []plan.Condition{{
		Type: plan.PendingRestart, Reason: "pending-restart", Message: "written, in effect after the next stop and start: cpu",
		Hint: "stop and start the guest from Proxmox; a reboot from inside the guest is not enough", Since: noon.Add(-40 * time.Minute),
	}}
	return g
}

// starting is the report of an engine before its first cycle.
func starting() report.Report {
	return report.Report{Cluster: "pve-lab", Source: report.Source{Branch: "main"}}
}

// unaccepted is a report of an agent whose only commit is refused.
func unaccepted() report.Report {
	r := steady()
	r.Converged, r.Guests, r.Unmanaged = false, nil, nil
	r.Source.Accepted = nil
	r.Source.Head = commitRefused
	r.Source.Refused = &report.Refused{Commit: commitRefused, Reason: "missing-anchor", Error: "reject 9be1d77: anchor is not in the history", Since: noon}
	r.Writes = report.Writes{Reason: reason.StopNoRevision, Message: "no revision was accepted yet"}
	return r
}
