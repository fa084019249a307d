package statusview

import (
	"strings"
	"testing"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/selection"
)

// TestWaitEndsWithWhatIsLacking: a wait ends at once if nothing is left but what the agent cannot do, with the guests that lack it.
func TestWaitEndsWithWhatIsLacking(t *testing.T) {
	t.Parallel()
	r := report.Report{
		Converged: true, Source: report.Source{Accepted: &report.Revision{Commit: "3f2a1c9"}},
		Guests: []report.Guest{
			{GuestName: report.GuestName{Kind: "Container", Name: "dns-1"}, Sync: report.Synced, Conditions: []plan.Condition{
				{Type: plan.Warned, Reason: reason.NeedsRoot, Message: "features", Hint: "as root on pve1: pct set 210 --features keyctl=1", Settings: []string{"features"}},
			}},
			{GuestName: report.GuestName{Kind: "Container", Name: "dns-2"}, Sync: report.Synced},
		},
	}
	if over, err := waitIsOver(r, Wait{}); !over || err != nil {
		t.Errorf("without a count: got %t, %v, want it converged", over, err)
	}
	r.Except = report.NewExcept(r.Guests)
	over, err := waitIsOver(r, Wait{Revision: "3f2a1c9"})
	if want := "in sync except for 1 setting that needs root: Container/dns-1"; !over || term.ExitStatus(err) != term.ExitChanges || err.Error() != want {
		t.Errorf("got %t, status %d and %v, want status %d and %q", over, term.ExitStatus(err), err, term.ExitChanges, want)
	}
	if over, err := waitIsOver(r, Wait{Revision: "ffffff1"}); over || err != nil {
		t.Errorf("another revision: got %t, %v, want a longer wait", over, err)
	}
	var out strings.Builder
	WriteReport(&out, r, selection.Selection{})
	for _, want := range []string{
		"converged except for 1 setting that needs root", "2 guests: 2 in sync (1 of them except for 1 setting that needs root), 0 not", "as root on pve1: pct set 210 --features keyctl=1",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got no %q\n%s", want, &out)
		}
	}
}

// TestWaitEndsWithRestarts: a wait ends at once if only restarts are left that nothing releases, with the guests that wait for one.
func TestWaitEndsWithRestarts(t *testing.T) {
	t.Parallel()
	waiting := func(name string) report.Guest {
		return report.Guest{
			GuestName: report.GuestName{Kind: "VirtualMachine", Name: name}, Sync: report.OutOfSync, Operation: report.Idle,
			Conditions: []plan.Condition{{Type: plan.PendingRestart, Reason: reason.PendingRestart}},
		}
	}
	with := func(g report.Guest, more ...plan.Condition) report.Guest {
		g.Conditions = append(g.Conditions, more...)
		return g
	}
	approvable := with(waiting("web-3"), plan.Condition{Type: plan.Held, Reason: reason.Approval})
	approvable.Operation = report.Waiting
	approvable.Held = []report.HeldStep{{Op: cluster.OpReboot, Hold: report.Hold{Reason: reason.Approval}}}
	tests := map[string]struct {
		guests   []report.Guest
		revision string
		want     string // "" for a longer wait
	}{
		"one":              {[]report.Guest{waiting("web-1"), {Sync: report.Synced}}, "3f2a1c9", "1 guest waits for a restart: VirtualMachine/web-1"},
		"several":          {[]report.Guest{waiting("web-2"), waiting("web-1")}, "", "2 guests wait for a restart: VirtualMachine/web-1, VirtualMachine/web-2"},
		"another_revision": {[]report.Guest{waiting("web-1")}, "ffffff1", ""},
		"drift_as_well":    {[]report.Guest{with(waiting("web-1"), plan.Condition{Type: plan.Drifted, Reason: reason.Differs})}, "", ""},
		"approvable":       {[]report.Guest{waiting("web-1"), approvable}, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := report.Report{
				Writes: report.Writes{Allowed: true}, Guests: test.guests,
				Source: report.Source{Head: "3f2a1c9", Accepted: &report.Revision{Commit: "3f2a1c9"}},
			}
			over, err := waitIsOver(r, Wait{Revision: test.revision})
			switch {
			case test.want == "" && (over || err != nil):
				t.Errorf("got %t, %v, want a longer wait", over, err)
			case test.want != "" && (!over || term.ExitStatus(err) != term.ExitChanges || !strings.HasSuffix(err.Error(), test.want)):
				t.Errorf("got %t, status %d and %v, want status %d and %q", over, term.ExitStatus(err), err, term.ExitChanges, test.want)
			}
		})
	}
}
