package status

import (
	"testing"
	"time"

	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

func TestSummary(t *testing.T) {
	accepted := report.Source{Accepted: &report.Revision{Commit: "3f2a91c01b2d4e5f60718293a4b5c6d7e8f90123"}}
	refused := accepted
	refused.Refused = &report.Refused{Reason: "unsigned"}
	waiting := accepted
	waiting.Waiting = &report.WaitingHead{Reason: "evidence-missing"}
	guests := []report.Guest{{Sync: report.Synced}, {Sync: report.OutOfSync, Held: []report.HeldStep{{}, {}}}}
	for want, r := range map[string]report.Report{
		"the first cycle has not ended yet":               {},
		"no revision accepted yet: 0 of 0 guests in sync": {Time: time.Unix(1, 0)},
		"it is unknown which revision is in force, no writes: journal": {
			Time: time.Unix(1, 0), Journal: report.Journal{Unread: true}, Writes: report.Writes{Reason: reason.StopJournal},
		},
		"3f2a91c01b2d: 0 of 1 guests in sync, 1 unknown":                               {Time: time.Unix(1, 0), Source: accepted, Guests: []report.Guest{{Sync: report.SyncUnknown}}},
		"3f2a91c01b2d: 1 of 2 guests in sync, 2 held steps":                            {Time: time.Unix(1, 0), Source: accepted, Guests: guests},
		"3f2a91c01b2d: 1 of 1 guests in sync, no writes: " + string(reason.StopPaused): {Time: time.Unix(1, 0), Source: accepted, Guests: guests[:1], Writes: report.Writes{Reason: reason.StopPaused}},
		"3f2a91c01b2d: 1 of 1 guests in sync, newest revision waits: evidence-missing": {Time: time.Unix(1, 0), Source: waiting, Guests: guests[:1]},
		"3f2a91c01b2d: 1 of 1 guests in sync, newest revision refused: unsigned":       {Time: time.Unix(1, 0), Source: refused, Guests: guests[:1]},
	} {
		if r.Writes.Reason == "" {
			r.Writes.Reason = reason.WritesAllowed
		}
		if got := Summary(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
