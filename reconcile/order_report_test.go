package reconcile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// reportedOrder returns an order from the report by its text.
func (l *lab) reportedOrder(run string) report.Order {
	l.Helper()
	for _, o := range l.engine.Report().Orders {
		if o.Order == run {
			return o
		}
	}
	l.Fatalf("got orders %+v in the report, want %q", l.engine.Report().Orders, run)
	return report.Order{}
}

// TestReportHasEveryOrder lets orders end in each way. The report says what became of each, why, and what to do.
func TestReportHasEveryOrder(t *testing.T) {
	t.Parallel()
	fault := func(f pvesim.Fault) func(l *lab) { return func(l *lab) { l.ok(l.sim.Inject(f)) } }
	for name, test := range map[string]struct {
		run       string
		running   bool
		prepare   func(l *lab)
		state     journal.OrderState
		word      string
		why, hint string // contained in the text; "" wants none
		task      bool
	}{
		"executed": {"start" + web1, false, nil, journal.OrderRun, "executed", "", "", true},
		"failed": {
			"start" + web1, false, fault(pvesim.Fault{Method: "POST", Path: "/status/start$", Kind: pvesim.TaskFails, Text: "no space left"}),
			journal.OrderFailed, "failed", "no space left", "sign a new order", true,
		},
		"refused_by_the_guest":  {"start" + web1, true, nil, journal.OrderRefused, "refused", "the guest is not stopped", "sign a new order", false},
		"unknown_guest":         {"start VirtualMachine/web-9", true, nil, journal.OrderRefused, "refused", "web-9", "sign a new order", false},
		"unknown_operation":     {"dance VirtualMachine/web-1", true, nil, journal.OrderRefused, "refused", "snapshot", "sign a new order", false},
		"unknown_key":           {"reboot" + web1 + " when=later", true, nil, journal.OrderRefused, "refused", "when", "sign a new order", false},
		"reserved_name":         {"snapshot" + web1 + " name=current", true, nil, journal.OrderRefused, "refused", "name", "sign a new order", false},
		"template_by_hand":      {"start" + web1, false, func(l *lab) { l.ok(l.sim.Edit(201, "template", "1")) }, journal.OrderRefused, "refused", "the guest is a template", "sign a new order", false},
		"guest_that_stays_up":   {"shutdown" + web1 + " timeout=30s", true, func(l *lab) { l.ok(l.sim.IgnoreShutdown(201)) }, journal.OrderFailed, "failed", "timeout", "sign a new order", true},
		"held_for_an_approval":  {"stop" + web1, true, nil, journal.OrderSeen, "held", "approv", "gitops-agent approve", false},
		"waits_for_a_lock":      {"reboot" + web1, true, func(l *lab) { l.ok(l.sim.Edit(201, "lock", "backup")) }, journal.OrderSeen, "waiting", "locked", "", false},
		"task_that_never_ends":  {"start" + web1, false, fault(pvesim.Fault{Method: "POST", Path: "/status/start$", Kind: pvesim.TaskNeverEnds}), journal.OrderReleased, "running", "has run on pve1 for more than", "look at the task", true},
		"reply_and_task_missed": {"reboot" + web1, true, fault(pvesim.Fault{Method: "POST", Path: "/status/reboot$", Kind: pvesim.DropBefore}), journal.OrderUnknown, "unknown", "no task", "look at the guest", false},
	} {
		t.Run(name, func(t *testing.T) {
			runLabWithOrders(t, nil, test.running, func(t *testing.T, l *lab, _ *probe) {
				l.rareTicks()
				if test.prepare != nil {
					test.prepare(l)
					time.Sleep(5 * time.Minute)
				}
				l.order(test.run)
				time.Sleep(3 * time.Hour)
				o := l.reportedOrder(test.run)
				if o.State != test.state || o.Word() != test.word || o.Signer != otto.Subject || o.Commit == "" || o.Proven.IsZero() || o.Changed.IsZero() {
					t.Errorf("got %+v, want it %s", o, test.word)
				}
				for what, texts := range map[string][2]string{"reason": {o.Why, test.why}, "hint": {o.Hint, test.hint}} {
					if !strings.Contains(texts[0], texts[1]) || (texts[0] == "") != (texts[1] == "") && what == "reason" {
						t.Errorf("got the %s %q, want one with %q", what, texts[0], texts[1])
					}
				}
				if (o.UPID != "") != test.task {
					t.Errorf("got the task %q, want one: %t", o.UPID, test.task)
				}
			})
		})
	}
}

// TestReportOfAnOrderWithoutTheRole lets a signer without the role operate order something.
func TestReportOfAnOrderWithoutTheRole(t *testing.T) {
	runLabWithOrders(t, nil, true, func(t *testing.T, l *lab, _ *probe) {
		l.waitForAcceptance(l.push("Operate\n\nGitops-Run: reboot"+web1+"\nGitops-Target: home/main\n", alice))
		if o := l.reportedOrder("reboot" + web1); o.State != journal.OrderRefused || !strings.Contains(o.Why+o.Hint, "operate") {
			t.Errorf("got %+v, want it refused for lack of the role operate", o)
		}
	})
}

// TestReportIsBounded orders more than a report lists. Those without an outcome are all in it, and come first.
func TestReportIsBounded(t *testing.T) {
	runLabWithOrders(t, nil, true, func(t *testing.T, l *lab, _ *probe) {
		l.order("stop" + web1)
		for i := range 30 {
			l.order(fmt.Sprintf("start%s for=%dh", web1, i+1))
		}
		time.Sleep(time.Hour)
		got := l.engine.Report().Orders
		if len(got) != 20 || got[0].Order != "stop"+web1 || got[0].Word() != "held" {
			t.Errorf("got %d orders, the first %+v; want 20, and the held one first", len(got), got[0])
		}
		for i, o := range got[1:] {
			if !strings.HasPrefix(o.Order, "start") || o.State != journal.OrderRefused {
				t.Errorf("got order %d %+v, want a refused one", i+1, o)
			}
		}
		if got[1].Order != "start"+web1+" for=30h" {
			t.Errorf("got %q first of the refused ones, want the newest", got[1].Order)
		}
	})
}
