package reconcile_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
)

const backupWeb1 = "backup" + web1 + " storage=local"

// backups returns the backups on the storages of the simulator.
func (l *lab) backups() []pvesim.Volume {
	var list []pvesim.Volume
	for _, v := range l.sim.Volumes() {
		if v.Kind == "backup" {
			list = append(list, v)
		}
	}
	return list
}

// TestOrderedBackup makes a backup once, and journals its volume.
func TestOrderedBackup(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		running bool
		more    string
	}{
		"running": {true, " protected=yes notes=before-6.2"}, "stopped": {false, ""}, "stop": {true, " mode=stop"},
	} {
		t.Run(name, func(t *testing.T) {
			runLabWithOrders(t, nil, test.running, func(t *testing.T, l *lab, p *probe) {
				run := backupWeb1 + test.more
				l.order(run)
				o := l.waitForOrder(run, journal.OrderRun)
				time.Sleep(2 * time.Hour)
				made := l.backups()
				if len(made) != 1 || o.Volume != made[0].ID || o.Why != "" || o.UPID == "" || !strings.Contains(o.Log, "finished successfully") {
					t.Errorf("got backups %+v of order %+v, want one, with its volume and its task", made, o)
				}
				if p.count(cluster.OpBackup, 201) != 1 || l.sim.Running(201) != test.running {
					t.Errorf("got %d calls, running %t, want one, %t", p.count(cluster.OpBackup, 201), l.sim.Running(201), test.running)
				}
			})
		})
	}
}

// TestOrderedBackupThatFails names a storage that is full, and one that does not exist.
func TestOrderedBackupThatFails(t *testing.T) {
	runLabWithOrders(t, nil, true, func(t *testing.T, l *lab, p *probe) {
		run := "backup" + web1 + " storage=nowhere"
		l.order(run)
		if o := l.waitForOrder(run, journal.OrderFailed); !strings.Contains(o.Why, "nowhere") {
			t.Errorf("got %q, want the storage", o.Why)
		}
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/vzdump$", Kind: pvesim.TaskFails, Text: "job errors", Times: -1}))
		l.order(backupWeb1)
		if o := l.waitForOrder(backupWeb1, journal.OrderFailed); !strings.Contains(o.Why, "job errors") || len(l.backups()) != 0 {
			t.Errorf("got %q and %v, want the error of the task", o.Why, l.backups())
		}
	})
}

// TestOrderedBackupWhoseVolumeIsHidden makes a backup that the token cannot list: the order is executed, and says what is not known.
func TestOrderedBackupWhoseVolumeIsHidden(t *testing.T) {
	runLabWithOrders(t, nil, true, func(t *testing.T, l *lab, p *probe) {
		l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Path: "/storage/local/content", Kind: pvesim.ErrorText, Text: "no", Times: -1}))
		l.order(backupWeb1)
		if o := l.waitForOrder(backupWeb1, journal.OrderRun); o.Volume != "" || !strings.Contains(o.Why, "could not be looked up") {
			t.Errorf("got volume %q and %q, want neither volume nor failure", o.Volume, o.Why)
		}
	})
}

// TestOrderedMigration moves a guest that runs, and one that does not.
func TestOrderedMigration(t *testing.T) {
	t.Parallel()
	for name, running := range map[string]bool{"running": true, "stopped": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, newSim(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}}))
				l.trustOtto()
				l.files["cluster.yaml"], l.files["web.yaml"] = clusterYAML, vmYAML("web-1", 201)
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				l.ok(l.sim.SetRunning(201, running))
				time.Sleep(2 * time.Minute)
				run := "migrate" + web1 + " target=pve2"
				l.order(run)
				l.waitForOrder(run, journal.OrderRun)
				time.Sleep(time.Hour)
				if g := l.guest(l.engine.Report(), 201); g.Node != "pve2" || l.sim.Running(201) != running || l.sim.Effects(201, pvesim.Migrated) != 1 {
					t.Errorf("got %s, running %t, want it on pve2", g.Node, l.sim.Running(201))
				}
				again := "migrate" + web1 + " target=pve1"
				l.order(again)
				l.waitForOrder(again, journal.OrderRun)
			})
		})
	}
}

// TestOrderedMigrationThatIsRefused moves a guest where the manifest would bring it back, and where it is already.
func TestOrderedMigrationThatIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lines  []string
		target string
		why    string
	}{
		"brought_back": {[]string{"placement: {migrate: online}"}, "pve2", "would move the guest away again"},
		"there":        {nil, "pve1", "on pve1 already"},
	} {
		t.Run(name, func(t *testing.T) {
			runLabWithOrders(t, test.lines, true, func(t *testing.T, l *lab, p *probe) {
				run := "migrate" + web1 + " target=" + test.target
				l.order(run)
				if o := l.waitForOrder(run, journal.OrderRefused); !strings.Contains(o.Why, test.why) || p.count(cluster.OpMigrate, 201) != 0 {
					t.Errorf("got %q, want %q", o.Why, test.why)
				}
			})
		})
	}
}
