package status_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/internal/status"
	"gitops-agent/reconcile"
)

func TestReadiness(t *testing.T) {
	tests := map[string]struct {
		change func(r *reconcile.Report)
		want   string // "" is ready
	}{
		"steady": {func(*reconcile.Report) {}, ""},
		"refused_head_keeps_the_good_one": {func(r *reconcile.Report) {
			r.Source.Refused = &reconcile.RefusedReport{Commit: commitRefused, Reason: "unsigned"}
		}, ""},
		"forge_down":    {func(r *reconcile.Report) { r.Source.Error = "fetch: connection refused" }, ""},
		"dry_run":       {func(r *reconcile.Report) { r.Writes = stop(reconcile.StopDryRun, "started with --dry-run") }, ""},
		"nothing_read":  {func(r *reconcile.Report) { r.Source = reconcile.SourceReport{} }, "revision: none accepted yet: the remote has not been read so far\n"},
		"nothing_taken": {func(r *reconcile.Report) { r.Source.Accepted = nil }, "revision: none accepted yet: the head is not checked so far\n"},
		"remote_never_answered": {func(r *reconcile.Report) {
			r.Source = reconcile.SourceReport{Error: "fetch https://git.example.org: no such host"}
		}, "revision: none accepted yet: the remote could not be read: fetch https://git.example.org: no such host\n"},
		"only_a_refused_head": {func(r *reconcile.Report) { *r = unaccepted() }, "revision: none accepted yet: the head 9be1d772 is refused (missing-anchor)\n"},
		"unverified": {func(r *reconcile.Report) {
			r.Writes = stop(reconcile.StopUnverified, "reject 3f2a1c9:\nits log is not trusted")
		}, "revision: the accepted one does not verify any more: reject 3f2a1c9: its log is not trusted\n"},
		"cluster": {func(r *reconcile.Report) { r.Proxmox = reconcile.ProxmoxReport{Error: "no quorum"} }, "cluster: no quorum\n"},
		"journal": {func(r *reconcile.Report) { r.Journal = reconcile.JournalReport{Error: "no space left on device"} }, "journal: no space left on device\n"},
		"stuck":   {func(r *reconcile.Report) { r.Time = noon.Add(-time.Hour) }, "cycle: the last one ended 1 h ago\n"},
		"everything": {
			func(r *reconcile.Report) { *r = reconcile.Report{Time: noon} },
			"revision: none accepted yet: the remote has not been read so far\ncluster: not asked yet\njournal: not looked at yet\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			atNoon(t, func(t *testing.T) {
				r := steady()
				test.change(&r)
				want, code := test.want, 503
				if want == "" {
					want, code = "ok\n", 200
				}
				res, body := ask(t, of(r), "GET", "/readyz")
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

func stop(reason reconcile.WriteStop, message string) reconcile.WritesReport {
	return reconcile.WritesReport{Reason: string(reason), Message: message}
}

func TestHealthFollowsTheCycle(t *testing.T) {
	atNoon(t, func(t *testing.T) {
		r := reconcile.Report{}
		opts := status.Options{Report: func() reconcile.Report { return r }, StaleAfter: time.Minute}
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
		check(time.Second, 503, "cycle: none has ended in the 1 min since the start\n")
		r.Time = time.Now() // everything else is in doubt, and the process lives
		check(time.Minute, 200, "ok\n")
		check(time.Second, 503, "cycle: the last one ended 1 min ago\n")
	})
}
