package status_test

import (
	std "cmp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/gitsource/fault"
	"gitops-agent/internal/status"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

func TestReadiness(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(r *report.Report)
		want   string // "" is ready
	}{
		"steady": {func(*report.Report) {}, ""},
		"refused_head_keeps_the_good_one": {func(r *report.Report) {
			r.Source.Refused = &report.Refused{Commit: commitRefused, Reason: "unsigned"}
		}, "ok\nrefused: unsigned:\n"},
		"waiting_head_keeps_the_good_one": {func(r *report.Report) {
			r.Source.Waiting = &report.WaitingHead{Commit: commitRefused, Reason: "evidence-missing", Error: "no evidence", Problem: "no notes\nno log"}
		}, "ok\nwaiting: evidence-missing: no evidence: no notes; no log\n"},
		"only_a_waiting_head": {func(r *report.Report) {
			r.Source.Accepted, r.Source.Waiting = nil, &report.WaitingHead{Commit: commitRefused, Reason: "evidence-missing"}
		}, "revision: none is accepted yet: the head 9be1d772 waits (evidence-missing)\n"},
		"forge_down": {func(r *report.Report) {
			r.Source.Reason, r.Source.Error = fault.Unreachable, "fetch: connection refused"
		}, "ok\nsource: unreachable: fetch: connection refused\n"},
		"dry_run":       {func(r *report.Report) { r.Writes = stop(reason.StopDryRun, "started with --dry-run") }, ""},
		"paused":        {func(r *report.Report) { r.Writes = stop(reason.StopPaused, "by user 0") }, ""},
		"nothing_read":  {func(r *report.Report) { r.Source = report.Source{} }, "revision: none is accepted yet: the remote has not been read yet\n"},
		"nothing_taken": {func(r *report.Report) { r.Source.Accepted = nil }, "revision: none is accepted yet: the head has not been verified yet\n"},
		"remote_never_answered": {func(r *report.Report) {
			r.Source = report.Source{Error: "fetch https://git.example.org: no such host"}
		}, "revision: none is accepted yet: the remote could not be read: fetch https://git.example.org: no such host\n"},
		"only_a_refused_head": {func(r *report.Report) { *r = unaccepted() }, "revision: none is accepted yet: the head 9be1d772 is refused (missing-anchor)\n"},
		"unverified": {func(r *report.Report) {
			r.Writes = stop(reason.StopUnverified, "reject 3f2a1c9:\nits log is not trusted")
		}, "revision: the accepted revision no longer verifies: reject 3f2a1c9: its log is not trusted\n"},
		"superseded": {func(r *report.Report) {
			r.Writes = stop(reason.StopSuperseded, "another agent has claimed this cluster")
		}, "writes: another agent has claimed this cluster\n"},
		"unclaimed": {func(r *report.Report) {
			r.Writes = stop(reason.StopUnclaimed, "claim the cluster: permission check failed")
		}, "writes: claim the cluster: permission check failed\n"},
		"state_directory": {func(r *report.Report) {
			r.Writes = stop(reason.StopStateDirectory, "the state directory was removed")
		}, "writes: the state directory was removed\n"},
		"cluster": {func(r *report.Report) { r.Proxmox = report.Proxmox{Error: "no quorum"} }, "cluster: no quorum\n"},
		"journal": {func(r *report.Report) { r.Journal = report.Journal{Error: "no space left on device"} }, "journal: no space left on device\n"},
		"journal_unread": {func(r *report.Report) {
			r.Source.Accepted, r.Writes = nil, stop(reason.StopJournal, "no answer")
			r.Journal = report.Journal{Reason: "store-unreachable", Error: "no answer", Unread: true}
			r.Replica = &report.Replica{Role: report.RoleStandby}
		}, "revision: it is unknown which one is in force: the journal was not read in full: no answer\njournal: store-unreachable: no answer\nstandby: no agent is known to lead\n"},
		"trusted_root_unread": {func(r *report.Report) {
			r.Source.RootError = "open root.json: no such file"
		}, "ok\ntrusted-root: the previous one stays in force: open root.json: no such file\n"},
		"stuck": {func(r *report.Report) { r.Time = noon.Add(-time.Hour) }, "cycle: the last cycle ended 1 h ago\n"},
		"everything": {
			func(r *report.Report) { *r = report.Report{Time: noon} },
			"revision: none is accepted yet: the remote has not been read yet\ncluster: not read yet\njournal: not checked yet\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atNoon(t, func(t *testing.T) {
				r := steady()
				test.change(&r)
				want, code := test.want, 503
				if want == "" || strings.HasPrefix(want, "ok\n") {
					want, code = std.Or(want, "ok\n"), 200
				}
				res, body := ask(t, optionsFor(r), "GET", "/readyz")
				if res.Code != code {
					t.Errorf("got status %d, want %d", res.Code, code)
				}
				if diff := cmp.Diff(want, body); diff != "" {
					t.Errorf("reasons (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func stop(reason reason.Stop, message string) report.Writes {
	return report.Writes{Reason: reason, Message: message}
}

func TestHealthFollowsTheCycle(t *testing.T) {
	t.Parallel()
	atNoon(t, func(t *testing.T) {
		r := report.Report{}
		opts := status.Options{Report: func() report.Report { return r }, StaleAfter: time.Minute}
		handler := status.Handler(opts)
		check := func(after time.Duration, code int, want string) {
			t.Helper()
			time.Sleep(after)
			res, body := send(t, handler, get("/healthz"))
			if res.Code != code || body != want {
				t.Errorf("got %d %q, want %d %q", res.Code, body, code, want)
			}
		}
		check(0, 200, "ok\n")
		check(time.Minute, 200, "ok\n")
		check(time.Second, 503, "cycle: no cycle has ended in the 1 min since the start\n")
		r.Time = time.Now() // all other fields report problems, but the engine completes cycles
		check(time.Minute, 200, "ok\n")
		check(time.Second, 503, "cycle: the last cycle ended 1 min ago\n")
	})
}
