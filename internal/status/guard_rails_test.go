package status_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource/fault"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/pause"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestGuardRailsAreVisible checks that each state in which the agent does not work as pushed, without a failure of its own, is in readiness and on the page.
func TestGuardRailsAreVisible(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(r *report.Report)
		code   int
		ready  string
		page   string
	}{
		"pause": {func(r *report.Report) {
			r.Writes = stop(reason.StopPaused, "by user 0")
			r.Writes.Paused = &pause.Note{UID: 0, Since: noon.Add(-time.Hour), Reason: "a move"}
		}, 200, "ok\npaused: ", "The agent is paused"},
		"superseded": {
			func(r *report.Report) {
				r.Writes = stop(reason.StopSuperseded, "another agent has claimed this cluster")
			},
			503, "writes: another agent", "Another agent has claimed this cluster",
		},
		"weakening": {func(r *report.Report) {
			held := report.HeldStep{Digest: "d1", Hold: report.Hold{Reason: reason.Guard, Message: "approvals of 2 to 1"}}
			r.Guards = &report.Guards{Held: []report.HeldStep{held}}
		}, 200, "ok\nheld: 1 weaker guards", "A weaker guard of the Cluster waits"},
		"weakening_of_a_guest": {func(r *report.Report) {
			r.Guests[0].Held = []report.HeldStep{{Digest: "d1", Hold: report.Hold{Reason: reason.Guard, Message: "protection"}}}
		}, 200, "ok\nheld: 1 weaker guards", "weakens a guard"},
		"hidden": {func(r *report.Report) {
			r.Guests[0].Conditions = []plan.Condition{{Type: plan.Blocked, Reason: reason.Denied, Message: "the token may not see it"}}
		}, 200, "ok\nhidden: 1 guests", "the token may not see it"},
		"state_directory": {
			func(r *report.Report) { r.Writes = stop(reason.StopStateDirectory, "the state directory was removed") },
			503, "writes: the state directory", "The state directory was removed",
		},
		"unclaimed": {
			func(r *report.Report) { r.Writes = stop(reason.StopUnclaimed, "claim the cluster: denied") },
			503, "writes: claim the cluster", "could not claim the cluster",
		},
		"task_hangs": {func(r *report.Report) {
			r.Guests[0].Conditions = []plan.Condition{{Type: plan.Blocked, Reason: reason.TaskHangs, Message: "UPID hangs"}}
		}, 200, "ok\ntask-hangs: 1 guests", "UPID hangs"},
		"unchecked": {
			func(r *report.Report) { r.Writes = stop(reason.StopUnchecked, "read the floor: denied") },
			503, "revision: read the floor", "not known yet which revision",
		},
		"policy": {
			func(r *report.Report) { r.Writes = stop(reason.StopPolicy, "read the policy: no such file") },
			503, "policy: read the policy", "The trust policy cannot be read",
		},
		"late": {func(r *report.Report) {
			r.Late = []report.Late{{Component: report.ComponentList, Calls: 1, Since: noon.Add(-31 * time.Second)}}
		}, 503, "late: proxmox has not answered the list of guests for 31 s", "Proxmox answers late"},
		"late_remote": {func(r *report.Report) {
			r.Late = []report.Late{{Component: report.ComponentSource, Remote: "https://git.example.org/infra", Calls: 1, Since: noon.Add(-31 * time.Second)}}
		}, 503, "late: no remote has served the branch for 31 s: https://git.example.org/infra", "No remote answers in time"},
		"remote_of_several": {func(r *report.Report) {
			r.Source.Remotes[1].State, r.Source.Remotes[1].Error = report.RemoteBehind, "older"
		}, 200, "ok\nremote: behind: https://mirror.example.org", "behind for"},
		"remote": {
			func(r *report.Report) { r.Source.Reason, r.Source.Error = fault.Unauthorized, "HTTP status 401" },
			200, "ok\nsource: unauthorized: HTTP status 401", "The remote could not be read: unauthorized",
		},
		"cluster": {func(r *report.Report) {
			r.Writes = stop(reason.StopNotReady, "cluster home has no quorum")
			r.Proxmox.Ready, r.Proxmox.Reason, r.Proxmox.Error = false, cluster.OutageNoQuorum, "cluster home has no quorum"
		}, 503, "cluster: no-quorum: cluster home has no quorum", "The cluster cannot be written to: no-quorum"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atNoon(t, func(t *testing.T) {
				r := steady()
				test.change(&r)
				res, body := ask(t, optionsFor(r), "GET", "/readyz")
				if res.Code != test.code || !strings.HasPrefix(body, test.ready) {
					t.Errorf("got %d %q, want %d and %q", res.Code, body, test.code, test.ready)
				}
				if _, page := ask(t, optionsFor(r), "GET", "/"); !strings.Contains(page, test.page) {
					t.Errorf("got a page without %q, want it named", test.page)
				}
			})
		})
	}
}
