package reconcile

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestLateReadingsHaveNames checks that each part of the cluster that does not answer is named.
func TestLateReadingsHaveNames(t *testing.T) {
	t.Parallel()
	for _, part := range []observe.Part{observe.PartList, observe.PartGuests, observe.PartHA, observe.PartReady, observe.PartFiles, observe.PartDatacenter, observe.PartObjects} {
		if componentOf[part] == "" {
			t.Errorf("got no component for %s, want its name", part)
		}
	}
	now := time.Now()
	for _, component := range report.Components() {
		if text := (report.Late{Component: component, Calls: 1, Since: now.Add(-8 * time.Second)}).Text(now); strings.Contains(text, "answered  for") {
			t.Errorf("%s: got %q, want what has not answered", component, text)
		}
	}
}

// TestCreationHidesNoGuest finds a vmid taken that the list of guests does not have: while the agent works on the guest, and as long as the list is from before the end of
// that, the agent itself has made it.
func TestCreationHidesNoGuest(t *testing.T) {
	t.Parallel()
	now := time.Now()
	tests := map[string]struct {
		busy  bool
		ended time.Time // of the lane's last turn
		want  bool
	}{
		"not_the_agent": {want: true},
		"creates_it":    {busy: true},
		"has_made_it":   {ended: now.Add(time.Second)},
		"long_ago":      {ended: now.Add(-time.Minute), want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hidden := plan.Condition{Type: plan.Blocked, Reason: reason.Denied}
			tr := &track{said: event.NewSink(slog.New(slog.DiscardHandler)).Subject(), turnEnded: test.ended, now: assessment{busy: test.busy, conditions: []plan.Condition{hidden}}}
			noteHidden(tr, plan.Guest{}, now)
			if got := !tr.said.Since(event.GuestHidden).IsZero(); got != test.want {
				t.Errorf("got hidden %t, want %t", got, test.want)
			}
		})
	}
}

// TestUnknownOrderNamesItsTask checks that no order with a task is said to have none.
func TestUnknownOrderNamesItsTask(t *testing.T) {
	t.Parallel()
	o := journal.Order{}
	without := whyUnknown(o)
	o.UPID = "UPID:pve1:00000001:00000002:386D452D:hamigrate:201:gitops@pve!agent:"
	if with := whyUnknown(o); !strings.Contains(without, "no task") || strings.Contains(with, "no task") {
		t.Errorf("got %q without a task and %q with one", without, with)
	}
}
