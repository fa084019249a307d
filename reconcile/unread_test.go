package reconcile_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/journal/storetest"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/recovery"
	"gitops-agent/reconcile/report"
)

// newSharedLab returns a lab whose agent has made two guests as the leader of a journal in a service, after which it ended. Before is its journal. The copy of the
// service knows the first guest alone.
func newSharedLab(t *testing.T) (l *lab, service, copied *storetest.Memory, before *journal.Journal) {
	t.Helper()
	service = &storetest.Memory{}
	l = newLab(t, newSim(t, pvesim.Options{}))
	l.openJournal = func(opts journal.Options) (*journal.Journal, error) {
		opts.Blocks = service.Lead()
		return journal.Open(opts)
	}
	l.files["cluster.yaml"], l.files["web.yaml"] = clusterYAML, vmYAML("web-1", 201)
	l.push("web-1", alice)
	stop := l.start()
	l.converge()
	copied = service.Copy()
	l.files["db.yaml"] = vmYAML("db-1", 202)
	l.push("db-1", alice)
	l.converge()
	stop()
	return l, service, copied, l.journal
}

// follow starts a standby of a service. Before is the journal of the process before; nil starts it on a host that knows nothing.
func (l *lab) follow(service *storetest.Memory, before *journal.Journal) (stop func()) {
	l.Helper()
	if before == nil {
		l.state, l.lock = l.TempDir(), nil
	}
	l.openJournal = func(opts journal.Options) (*journal.Journal, error) {
		opts.Blocks, opts.Before = service.Watch(), before
		return journal.Follow(l.Context(), opts)
	}
	l.opts.Standby, l.opts.Recover = "another agent leads", recovery.Note{Dir: l.state}
	return l.start()
}

// wantNothingLost fails the test if a report says of anything that was not read that it is not there.
func wantNothingLost(t *testing.T, what string, r report.Report) {
	t.Helper()
	if r.Recovery != nil {
		t.Errorf("%s: got lost guests %+v, want none", what, r.Recovery.Guests)
	}
	if len(r.Unmanaged) > 0 {
		t.Errorf("%s: got unmanaged guests %v, want none", what, r.Unmanaged)
	}
	for _, g := range r.Guests {
		if g.Health == report.Missing || g.Sync == report.OutOfSync {
			t.Errorf("%s: got %s %s and %s, want neither missing nor out of sync", what, g.Label(), g.Health, g.Sync)
		}
	}
}

// TestUnreadJournalIsNotEmpty starts agents whose journal does not answer, or answers with an older copy. They report no guest as lost, missing or unmanaged, and
// what they do not know as unknown.
func TestUnreadJournalIsNotEmpty(t *testing.T) {
	t.Parallel()
	sync := func(r report.Report, label string) report.Sync {
		if i := slices.IndexFunc(r.Guests, func(g report.Guest) bool { return g.Label() == label }); i >= 0 {
			return r.Guests[i].Sync
		}
		return ""
	}
	t.Run("restarted", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l, service, _, _ := newSharedLab(t)
			service.Silence(true)
			defer l.follow(service, nil)()
			time.Sleep(10 * time.Minute)
			r := l.engine.Report()
			wantNothingLost(t, "without an answer", r)
			if !r.InForceUnknown() || r.Writes.Reason != reason.StopJournal || r.Journal.Reason != journal.FaultUnreachable || !r.Journal.Unread {
				t.Errorf("got %+v, writes %+v and journal %+v, want an unknown revision", r.Source, r.Writes, r.Journal)
			}
			service.Silence(false)
			l.converge()
			if r := l.engine.Report(); r.Writes.Reason != reason.StopStandby || r.Journal.Unread || len(r.Guests) != 2 {
				t.Errorf("got writes %+v, journal %+v and %d guests after the answer, want a standby with two guests", r.Writes, r.Journal, len(r.Guests))
			}
		})
	})
	t.Run("former_leader", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l, service, _, before := newSharedLab(t)
			service.Silence(true)
			defer l.follow(service, before)()
			time.Sleep(10 * time.Minute)
			r := l.engine.Report()
			wantNothingLost(t, "without an answer", r)
			if r.Source.Accepted == nil || r.Source.Accepted.Commit != l.repo.Tip || sync(r, "VirtualMachine/db-1") != report.Synced {
				t.Errorf("got the revision %+v and db-1 %s, want the state that it knew as the leader", r.Source.Accepted, sync(r, "VirtualMachine/db-1"))
			}
			if r.Writes.Reason != reason.StopJournal || !r.Journal.Unread {
				t.Errorf("got writes %+v and journal %+v, want that it cannot take over", r.Writes, r.Journal)
			}
			l.files["new.yaml"] = vmYAML("new-1", 203)
			l.push("a commit that no agent can accept now", alice)
			time.Sleep(10 * time.Minute)
			if r := l.engine.Report(); r.Source.Accepted.Commit == l.repo.Tip || r.Source.Refused != nil || r.Source.Error != "" {
				t.Errorf("got %+v, want the commit neither in force nor refused, and the source fine", r.Source)
			}
		})
	})
	t.Run("older_copy", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l, service, copied, _ := newSharedLab(t)
			stop := l.follow(service, nil)
			l.converge()
			stop()
			state := l.state
			stop = l.follow(copied, l.journal) // on the same host
			time.Sleep(10 * time.Minute)
			if l.state != state {
				t.Fatal("got another host")
			}
			r := l.engine.Report()
			wantNothingLost(t, "of an older copy", r)
			if r.Writes.Reason != reason.StopJournal || r.Journal.Reason != journal.FaultRolledBack {
				t.Errorf("got writes %+v and journal %+v, want the rollback", r.Writes, r.Journal)
			}
			stop()
			l.opts.Standby = ""
			l.openJournal = func(opts journal.Options) (*journal.Journal, error) {
				opts.Blocks = copied.Lead()
				return journal.Open(opts)
			}
			defer l.start()()
			time.Sleep(10 * time.Minute)
			r = l.engine.Report()
			wantNothingLost(t, "as the leader of an older copy", r)
			if sync(r, "VirtualMachine/web-1") == report.OutOfSync || r.Journal.Reason != journal.FaultRolledBack {
				t.Errorf("got web-1 %s and journal %+v, want the guest that the copy knows as it is", sync(r, "VirtualMachine/web-1"), r.Journal)
			}
		})
	})
	t.Run("damaged_files", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, newSim(t, pvesim.Options{}))
			l.files["cluster.yaml"], l.files["web.yaml"], l.files["db.yaml"] = clusterYAML, vmYAML("web-1", 201), vmYAML("db-1", 202)
			l.push("two guests", alice)
			stop := l.start()
			l.converge()
			stop()
			names, err := filepath.Glob(filepath.Join(l.state, "journal", "*.journal"))
			l.ok(err)
			damaged, err := os.ReadFile(names[0])
			l.ok(err)
			damaged[len(damaged)/2] ^= 1
			l.ok(os.WriteFile(names[0], damaged, 0o600))
			l.opts.Recover = recovery.Note{Dir: l.state}
			defer l.start()()
			time.Sleep(10 * time.Minute)
			r := l.engine.Report()
			wantNothingLost(t, "of a damaged journal", r)
			if r.Journal.Reason != journal.FaultDamaged || !strings.Contains(r.Journal.Error, filepath.Base(names[0])) {
				t.Errorf("got the journal %+v, want the damage", r.Journal)
			}
		})
	})
}

// TestStoreThatTakesNoLeader makes the service refuse records and leaders although it can be read: neither the leader nor a standby is ready.
func TestStoreThatTakesNoLeader(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want journal.Fault
	}{
		"full":   {journal.ErrStoreFull, journal.FaultDiskFull},
		"denied": {journal.ErrStoreDenied, journal.FaultDenied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, service, _, _ := newSharedLab(t)
				var refused error
				l.opts.Refused = func() error { return refused }
				for _, role := range []string{"leader", "standby"} {
					stop := l.start
					if role == "standby" {
						stop = func() func() { return l.follow(service, nil) }
					}
					end := stop()
					l.converge()
					refused = test.err
					l.ok(l.sim.Edit(201, "memory", "777"))
					time.Sleep(5 * time.Minute)
					r := l.engine.Report()
					if r.Writes.Reason != reason.StopJournal || r.Journal.Healthy || r.Journal.Reason != test.want || r.Journal.Unread {
						t.Errorf("%s: got writes %+v and journal %+v, want the reason %s", role, r.Writes, r.Journal, test.want)
					}
					if got := l.sim.Value(201, "memory"); got != "777" {
						t.Errorf("%s: got memory %s, want nothing written", role, got)
					}
					refused = nil
					l.ok(l.sim.Edit(201, "memory", "2048"))
					l.converge()
					end()
				}
			})
		})
	}
}

// TestSilentClusterIsUnknown lets the cluster answer nothing: guests and other objects become unknown, and no one is missing. An agent that starts meanwhile says so too.
func TestSilentClusterIsUnknown(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"], l.files["pool.yaml"] = vmYAML("web-1", 201), dbPool
		l.push("a guest and a pool", alice)
		stop := l.start()
		l.converge()
		silence := func() { l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.ProxyStatus, Status: 595, Times: -1})) }
		silence()
		for _, agent := range []string{"that runs", "that starts"} {
			time.Sleep(10 * time.Minute)
			r := l.engine.Report()
			wantNothingLost(t, "an agent "+agent, r)
			for _, g := range r.Guests {
				if g.Sync != report.SyncUnknown || g.Health != report.HealthUnknown {
					t.Errorf("an agent %s: got %s %s and %s, want both unknown", agent, g.Label(), g.Sync, g.Health)
				}
				if g.IsOrphaned() {
					t.Errorf("an agent %s: got %s orphaned, want that it is unknown whether a manifest names it", agent, g.Label())
				}
			}
			if len(r.Guests) != 2 {
				t.Errorf("an agent %s: got %d guests and objects, want 2", agent, len(r.Guests))
			}
			stop()
			stop = l.start()
		}
		l.sim.ClearFaults()
		l.converge()
		stop()
	})
}
