package reconcile_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/reason"
	"gitops-agent/verify"
)

// TestIncidentUnreachableClusterReportedAsUnverified starts the agent while Proxmox cannot be reached. Neither the revision nor the remote is to blame.
func TestIncidentUnreachableClusterReportedAsUnverified(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		l.once()
		l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.DropBefore, Times: -1}))
		defer l.start()()
		for range 20 {
			time.Sleep(15 * time.Second)
			r := l.engine.Report()
			if r.Writes.Reason != reason.StopNotReady || r.Source.Error != "" || r.Proxmox.Ready || r.Proxmox.Error == "" || r.Source.Accepted == nil {
				t.Fatalf("got writes %q (%s), source error %q, proxmox error %q, want the cluster alone to blame", r.Writes.Reason, r.Writes.Message, r.Source.Error, r.Proxmox.Error)
			}
		}
		l.sim.ClearFaults()
		l.converge()
	})
}

// TestUnreachableClusterAtTheFirstStart is the same without an accepted revision.
func TestUnreachableClusterAtTheFirstStart(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.DropBefore, Times: -1}))
		defer l.start()()
		time.Sleep(2 * time.Minute)
		if r := l.engine.Report(); r.Writes.Reason != reason.StopNotReady || r.Source.Error != "" || r.Source.Refused != nil || r.Source.LastSuccess.IsZero() {
			t.Errorf("got writes %q (%s), source error %q, want the cluster to blame", r.Writes.Reason, r.Writes.Message, r.Source.Error)
		}
		l.sim.ClearFaults()
		l.converge()
	})
}

// TestFloorThatMayNotBeReadIsUnchecked takes the permission for the pool away, so that the cluster answers and the floor is unknown.
func TestFloorThatMayNotBeReadIsUnchecked(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		l.once()
		l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Path: "^/pools", Kind: pvesim.ErrorText, Text: "no such luck", Times: -1}))
		defer l.start()()
		time.Sleep(time.Minute)
		if r := l.engine.Report(); r.Writes.Reason != reason.StopUnchecked || !strings.Contains(r.Writes.Message, "floor") || r.Source.Error != "" || !r.Proxmox.Ready {
			t.Errorf("got writes %q (%s), source error %q, cluster ready %t, want the floor to blame", r.Writes.Reason, r.Writes.Message, r.Source.Error, r.Proxmox.Ready)
		}
		l.sim.ClearFaults()
		l.converge()
	})
}

// TestIncidentLostQuorumNoticedOnlyByWork takes the quorum from a converged cluster. The report says so within a tick, and says when it is back.
func TestIncidentLostQuorumNoticedOnlyByWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, newSim(t, pvesim.Options{Nodes: []string{"pve1", "pve2", "pve3"}}))
		l.files["cluster.yaml"] = clusterYAML
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		time.Sleep(time.Minute)
		l.sim.LoseQuorum()
		time.Sleep(16 * time.Second)
		for range 10 {
			if r := l.engine.Report(); r.Writes.Reason != reason.StopNotReady || r.Proxmox.Ready || !strings.Contains(r.Proxmox.Error, "no quorum") || r.Converged {
				t.Fatalf("got writes %q, ready %t, error %q, converged %t, want no quorum", r.Writes.Reason, r.Proxmox.Ready, r.Proxmox.Error, r.Converged)
			}
			time.Sleep(15 * time.Second)
		}
		l.sim.RegainQuorum()
		time.Sleep(16 * time.Second)
		if r := l.engine.Report(); r.Writes.Reason != reason.WritesAllowed || !r.Proxmox.Ready || !r.Converged {
			t.Errorf("got writes %q (%s), ready %t, converged %t, want all well within a tick", r.Writes.Reason, r.Writes.Message, r.Proxmox.Ready, r.Converged)
		}
	})
}

// TestIncidentFailedClaimsForgetThePredecessor starts an agent without quorum, after a push: its claims fail until the quorum is back. Then it writes, without
// a person.
func TestIncidentFailedClaimsForgetThePredecessor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, newSim(t, pvesim.Options{Nodes: []string{"pve1", "pve2", "pve3"}}))
		l.noTakeOver = true
		l.files["cluster.yaml"] = clusterYAML
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		stop := l.start()
		l.converge()
		stop()
		l.sim.LoseQuorum()
		l.files["web.yaml"] = vmYAML("web-1", 201, "description: newer")
		l.push("a change", alice)
		defer l.start()()
		time.Sleep(4 * time.Hour) // sixteen polls
		l.sim.RegainQuorum()
		l.converge()
	})
}

// TestIncidentRefusedPushHidesConvergence refuses a push on top of a revision that had converged.
func TestIncidentRefusedPushHidesConvergence(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		good := l.push("one guest", alice)
		stop := l.start()
		l.converge()
		spec := sigtest.CommitSpec{Tree: l.repo.Tree(), Parents: []string{good}, Message: "not signed"}
		raw := spec.Payload(time.Now())
		l.repo.Place(raw, sigtest.ObjectID("commit", raw))
		l.engine.Hint()
		eventually(t, "the refusal", func() bool { return l.engine.Report().Source.Refused != nil })
		if r := l.engine.Report(); r.Source.Accepted.Converged.IsZero() || r.Converged {
			t.Errorf("got converged at %s, report converged %t, want the time of the revision in force, and no convergence on the newest head", r.Source.Accepted.Converged, r.Converged)
		}
		stop()
		defer l.start()()
		eventually(t, "the refusal after a start", func() bool { return l.engine.Report().Source.Refused != nil })
		eventually(t, "the time of the convergence after a start", func() bool { return !l.engine.Report().Source.Accepted.Converged.IsZero() })
	})
}

// TestUnreadablePolicyIsItsOwnReason makes the trusted root unreadable while the agent runs, and at the start.
func TestUnreadablePolicyIsItsOwnReason(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		missing := false
		l.opts.Policy = func() (*verify.Policy, error) {
			if missing {
				return nil, errors.New("open /etc/gitops-agent/trusted_root.json: no such file or directory")
			}
			return l.policy.Load(), nil
		}
		l.once()
		missing = true
		defer l.start()()
		time.Sleep(2 * time.Minute)
		if r := l.engine.Report(); r.Writes.Reason != reason.StopPolicy || r.Source.Error != "" || !r.Proxmox.Ready {
			t.Errorf("got writes %q (%s), source error %q, want the policy to blame", r.Writes.Reason, r.Writes.Message, r.Source.Error)
		}
	})
}

// TestIncidentLostQuorumWithoutOfflineNodes takes the quorum while the list still shows every node online, as in a cluster whose corosync has stopped.
func TestIncidentLostQuorumWithoutOfflineNodes(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		w := &brokenWire{next: l.sim.Transport()}
		l.cluster = l.connect(proxmox.Options{Transport: w})
		l.opts.Cluster, l.opts.Floors = l.cluster, l.cluster
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		time.Sleep(time.Minute)
		w.only("/cluster/status", replies(200, `{"data":[{"type":"cluster","name":"lab","quorate":0},{"type":"node","name":"pve1","online":1}]}`))
		time.Sleep(16 * time.Second)
		if r := l.engine.Report(); r.Proxmox.Reason != cluster.OutageNoQuorum || r.Writes.Reason != reason.StopNotReady || r.Converged {
			t.Errorf("got cluster %q, writes %q, converged %t, want no quorum within a tick", r.Proxmox.Reason, r.Writes.Reason, r.Converged)
		}
		w.cause.Store(nil)
		time.Sleep(16 * time.Second)
		if r := l.engine.Report(); r.Proxmox.Reason != cluster.OutageNone || !r.Converged {
			t.Errorf("got cluster %q, converged %t, want it ready within a tick", r.Proxmox.Reason, r.Converged)
		}
	})
}
