package reconcile_test

import (
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/reason"
)

// TestOutagesAreToldOnce lets the remote, the cluster and the view of a guest fail six times for a second, which is no event, and once for five minutes, which is one
// begin and one end. The report shows each outage at once, and the log has a line about it.
func TestOutagesAreToldOnce(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		begins, ends event.Name
		line         string // written at once
		fail         func(*lab)
		restore      func(*lab)
		reported     func(*lab) bool
	}{
		"remote": {
			event.SourceLost, event.SourceAnswers, "branch not fetched for now",
			func(l *lab) { rename(l, l.repo.Dir, l.repo.Dir+".away"); l.engine.Hint() }, func(l *lab) { rename(l, l.repo.Dir+".away", l.repo.Dir) },
			func(l *lab) bool { return l.engine.Report().Source.Error != "" },
		},
		"cluster": {
			event.ClusterLost, event.ClusterReady, "cluster cannot be worked with for now",
			func(l *lab) { l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.Unauthorized, Times: -1})) }, func(l *lab) { l.sim.ClearFaults() },
			func(l *lab) bool { return !l.engine.Report().Proxmox.Ready },
		},
		"guest": {
			event.GuestHidden, event.GuestVisible, "guest hidden from the token for now",
			func(l *lab) {
				l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Role: "Administrator"}, {Path: "/vms/201", Role: "NoAccess"}})
			},
			func(l *lab) {
				l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Role: "Administrator"}})
			},
			func(l *lab) bool { return len(l.guest(l.engine.Report(), 201).Conditions) > 0 },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
				log := &eventLog{}
				l.opts.Logger = slog.New(log)
				l.files["web.yaml"] = vmYAML("web-1", 201)
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				begun, ended, stopped := len(log.of(tt.begins)), len(log.of(tt.ends)), len(log.of(event.WritesStopped))
				for range 6 {
					tt.fail(l)
					eventually(l, "the outage in the report", func() bool { return tt.reported(l) })
					time.Sleep(time.Second)
					tt.restore(l)
					eventually(l, "its end in the report", func() bool { return !tt.reported(l) })
					time.Sleep(time.Minute)
				}
				if got := len(log.of(tt.begins)) + len(log.of(tt.ends)) + len(log.of(event.WritesStopped)); got != begun+ended+stopped {
					t.Errorf("got %v, %v and %v of six outages of a second, want nothing more told", log.of(tt.begins), log.of(tt.ends), log.of(event.WritesStopped))
				}
				if got := log.count(tt.line); got < 6 {
					t.Errorf("got %d lines %q of six outages, want one of each", got, tt.line)
				}
				tt.fail(l)
				time.Sleep(5 * time.Minute)
				tt.restore(l)
				time.Sleep(10 * time.Minute)
				if b, e := log.of(tt.begins)[begun:], log.of(tt.ends)[ended:]; len(b) != 1 || len(e) != 1 {
					t.Errorf("got %v and %v of an outage of five minutes, want one begin and one end", b, e)
				}
			})
		})
	}
}

// TestLateEvidenceIsToldOnce lets the evidence of six commits of the online mode come a second after them, which is no event, and that of another one after five minutes, which is one
// begin and one end.
func TestLateEvidenceIsToldOnce(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		log := &eventLog{}
		l.opts.Logger = slog.New(log)
		l.files["web.yaml"] = vmYAML("web-1", 201, "cpu: {cores: 1}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		for i := range 7 {
			tip, logged := l.pushOnline(strconv.Itoa(i+2), sigtest.SignOptions{})
			l.engine.Hint()
			eventually(l, "the wait in the report", func() bool { return l.engine.Report().Source.Waiting != nil })
			time.Sleep(time.Second)
			if i == 6 {
				time.Sleep(5 * time.Minute)
			}
			l.note(tip, l.bundle(logged))
			l.engine.Hint()
			eventually(l, "the commit in force", func() bool {
				r := l.engine.Report()
				return r.Source.Waiting == nil && r.Source.Accepted.Commit == tip && r.Converged
			})
			time.Sleep(time.Minute)
			if got, want := log.of(event.RevisionWaiting), i/6; len(got) != want {
				t.Fatalf("got %v after %d commits, want %d", got, i+1, want)
			}
		}
		if got := log.of(event.RevisionAccepted); len(got) != 8 {
			t.Errorf("got accepted revisions %v, want eight, which end the waits", got)
		}
	})
}

// The reasons of a stop that pass by themselves are reasons of a stop.
func TestPassingStopsExist(t *testing.T) {
	t.Parallel()
	row, _ := event.RowOf(event.WritesStopped)
	for _, name := range row.Passing {
		if !slices.Contains(reason.Stops(), reason.Stop(name)) {
			t.Errorf("got %q, which is no reason why nothing is written", name)
		}
	}
	if len(row.Passing) == 0 {
		t.Error("got no reasons that pass by themselves: a pause would be told late")
	}
}
