package reconcile_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// alarms collects every word of reports, events and log lines that would alarm a person.
type alarms struct {
	eventLog
	mu  sync.Mutex
	all []string
}

func (a *alarms) add(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if text := fmt.Sprintf(format, args...); !slices.Contains(a.all, text) {
		a.all = append(a.all, text)
	}
}

func (a *alarms) report(r report.Report) {
	for _, g := range r.Guests {
		for _, c := range g.Conditions {
			switch c.Type {
			case plan.NotObserved:
				if !strings.HasPrefix(c.Message, "not read yet: ") || g.Health != report.Progressing {
					a.add("%s %s %s: %s", g.Label(), c.Type, g.Health, c.Message)
				}
			case plan.Drifted, plan.Blocked, plan.Failed, plan.Held, plan.IdentityConflict:
				a.add("%s %s %s: %s", g.Label(), c.Type, c.Reason, c.Message)
			case plan.Pending, plan.PendingRestart, plan.Suspended, plan.WaitsFor, plan.Orphaned, plan.Leftover, plan.Warned:
			}
		}
		if g.Health == report.HealthUnknown || g.Health == report.Degraded {
			a.add("%s %s", g.Label(), g.Health)
		}
	}
}

func (a *alarms) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		a.add("%s", r.Message)
	}
	return a.eventLog.Handle(ctx, r)
}

func (a *alarms) WithAttrs([]slog.Attr) slog.Handler { return a }

// TestCalm creates ten guests in a first run, and restarts the agent. No report, event or line of the log has an alarming word meanwhile: a guest that was not read yet
// is Progressing. The choice of each node is told once.
func TestCalm(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		heard := &alarms{}
		l.opts.Logger, l.opts.Hooks.OnReport = slog.New(heard), heard.report
		for i := range 10 {
			name := fmt.Sprintf("web-%d", i)
			l.files[name+".yaml"] = strings.Replace(vmYAML(name, 201+i, "state: running"), "  node: pve1\n", "  placement: {auto: {nodes: [pve1, pve2]}}\n", 1)
		}
		l.push("ten guests", alice)
		stop := l.start()
		l.converge()
		time.Sleep(10 * time.Minute)
		first := slices.Clone(heard.all)
		stop()
		heard.all = nil
		stop = l.start()
		l.converge()
		time.Sleep(10 * time.Minute)
		stop()
		if len(first) > 0 || len(heard.all) > 0 {
			t.Errorf("got alarms\n\t%s\nin the first run, and after a restart\n\t%s", strings.Join(first, "\n\t"), strings.Join(heard.all, "\n\t"))
		}
		if got := len(heard.of(event.GuestPlaced)); got != 10 {
			t.Errorf("got %d choices of a node, want each once", got)
		}
	})
}
