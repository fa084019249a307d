package reconcile_test

import (
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// otherPolicy returns a policy that contains alice, and whose trusted root does not contain the lab's Sigstore.
func (l *lab) otherPolicy() *verify.Policy {
	l.Helper()
	other, err := sigtest.New(sigtest.Options{Name: "other", Seed: "other", From: labSigstore.From, CAKey: sigtest.P256})
	l.ok(err)
	root, err := other.TrustedRoot()
	l.ok(err)
	policy, err := verify.NewPolicy(verify.Options{
		TrustedRoot: root, Branch: "main", Target: "home/main", Binding: verify.BindingNone, TrustOnFirstUse: true,
		Signers: []verify.Signer{{Name: "alice", Issuer: alice.Issuer, Subject: alice.Subject, May: []verify.Role{verify.RoleChange}}},
	})
	l.ok(err)
	return policy
}

// TestReplacedTrustedRootAppliesWhileTheRemoteIsDown replaces the trusted root by one under which the accepted revision does not verify. The writes
// must stop although the remote does not answer.
func TestReplacedTrustedRootAppliesWhileTheRemoteIsDown(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.repo.Git(nil, "symbolic-ref", "HEAD", "refs/heads/gone")
		l.repo.Git(nil, "update-ref", "-d", "refs/heads/main")
		eventually(t, "the error of the source", func() bool { return l.engine.Report().Source.Error != "" })
		l.policy.Store(l.otherPolicy())
		stopped := func() bool { return l.engine.Report().Writes.Reason == reason.StopUnverified }
		eventually(t, "writes to stop", stopped)
		l.ok(l.sim.Edit(201, "memory", "4096"))
		time.Sleep(10 * time.Minute)
		if got := l.sim.Value(201, "memory"); got != "4096" {
			t.Errorf("got memory %s written under a revision that does not verify, want it unchanged", got)
		}
		l.repo.Git(nil, "update-ref", "refs/heads/main", l.repo.Tip)
		eventually(t, "the remote to be back", func() bool { return l.engine.Report().Source.Error == "" })
		time.Sleep(10 * time.Minute)
		if !stopped() {
			t.Errorf("got writes %+v after the remote came back with the same revision, want them stopped", l.engine.Report().Writes)
		}
	})
}

// TestUnverifiedStartReportsUnknownGuests begins with a policy under which the accepted revision does not verify. The desired state is unknown
// then: the report contains no drift and no removal.
func TestUnverifiedStartReportsUnknownGuests(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}", "lifecycle: {destroy: allow}")
		l.push("one guest", alice)
		stop := l.start()
		l.converge()
		stop()
		l.policy.Store(l.otherPolicy())
		l.opts.Hooks.OnEvent = onOutcome(func(o report.DriftOutcome) { t.Errorf("got drift %+v, want none reported", o) })
		defer l.start()()
		eventually(t, "writes to stop", func() bool { return l.engine.Report().Writes.Reason == reason.StopUnverified })
		time.Sleep(5 * time.Minute)
		g := l.guest(l.engine.Report(), 201)
		if g.Sync != report.SyncUnknown || !hasCondition(g, plan.NotObserved, reason.WritesStopped) || len(g.Held) != 0 {
			t.Errorf("got %s with %+v and %+v, want its state unknown and no step", g.Sync, g.Conditions, g.Held)
		}
	})
}

// TestReportDescribesTheRevisionThatItNames delays the engine after the acceptance of a revision. Until then the report describes the old revision,
// and names it.
func TestReportDescribesTheRevisionThatItNames(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		var lagging atomic.Bool
		l.opts.Hooks.Intake.OnPoll = func(p report.PollOutcome) {
			if p.Result == report.PollAccepted && lagging.Load() {
				time.Sleep(40 * time.Second)
			}
		}
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		old := l.push("two gigabytes", alice)
		defer l.start()()
		l.converge()
		lagging.Store(true)
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 3Gi}")
		tip := l.push("three", alice)
		eventually(t, "acceptance", func() bool { return l.journal.State().Accepted.Commit == tip })
		for range 60 {
			time.Sleep(time.Second)
			r := l.engine.Report()
			want := map[string]string{old: "2048", tip: "3072"}[r.Source.Accepted.Commit]
			if got := l.sim.Value(201, "memory"); r.Converged && got != want {
				t.Fatalf("got %.7s reported as converged with memory %s, want %s", r.Source.Accepted.Commit, got, want)
			}
		}
		if r := l.engine.Report(); !r.Converged || r.Source.Accepted.Commit != tip {
			t.Errorf("got %.7s, converged %t, at the end, want the new revision converged", r.Source.Accepted.Commit, r.Converged)
		}
	})
}

func TestDryRunWritesNoState(t *testing.T) {
	dry := func(o *reconcile.Options) { o.DryRun = true }
	runLab(t, []labOption{defaultPoll, dry}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		r := l.once()
		if len(r.Guests) != 1 || r.Guests[0].Held[0].Reason != reason.WritesStopped || r.Writes.Reason != reason.StopDryRun {
			t.Errorf("got %+v with writes %+v, want one guest's steps held by the dry run", r.Guests, r.Writes)
		}
		l.open()
		defer l.close()
		if got := l.journal.State(); got.Seq != 0 || got.Accepted != nil {
			t.Errorf("got journal sequence %d and %+v accepted by a dry run, want nothing", got.Seq, got.Accepted)
		}
		if comment, found := l.sim.PoolComment("gitops-agent"); found {
			t.Errorf("got pool comment %q by a dry run, want no pool", comment)
		}
	})
}
