package reconcile_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// TestOrdersThatMatchNothing pushes orders and approvals that can have no effect, each in another way. Each is a row of the report with a sentence that names what is wrong, and one
// event; nothing is done.
func TestOrdersThatMatchNothing(t *testing.T) {
	t.Parallel()
	const unknown = "00000000000000000000000000000000"
	tests := map[string]struct {
		trailers  string // DIGEST is the one of the held destroy
		by        sigtest.Identity
		order     string // of the row, "" for that of the first trailer
		unmatched bool
		why       string
	}{
		"unknown_guest":         {"Gitops-Run: reboot VirtualMachine/web-9", otto, "reboot VirtualMachine/web-9", false, "no manifest names VirtualMachine/web-9, or it is that of another cluster"},
		"guest_of_another_kind": {"Gitops-Run: reboot Container/db-1", otto, "reboot Container/db-1", false, "no manifest names Container/db-1"},
		"guest_of_another_path": {"Gitops-Run: reboot VirtualMachine/away-1", otto, "reboot VirtualMachine/away-1", false, "or it is that of another cluster"},
		"unknown_operation":     {"Gitops-Run: dance VirtualMachine/db-1", otto, "dance VirtualMachine/db-1", false, `operation "dance" is unknown, want start, `},
		"unknown_key":           {"Gitops-Run: reboot VirtualMachine/db-1 now=yes", otto, "reboot VirtualMachine/db-1 now=yes", false, `key "now" of reboot is unknown, want timeout`},
		"no_guest":              {"Gitops-Run: reboot", otto, "reboot", false, "reboot names no guest"},
		"unknown_rollout":       {"Gitops-Run: promote Rollout/web revision=" + strings.Repeat("a", 40), otto, "promote Rollout/web revision=" + strings.Repeat("a", 40), false, "Rollout/web"},
		"without_the_role":      {"Gitops-Run: reboot VirtualMachine/db-1", alice, "reboot VirtualMachine/db-1", false, "operate"},
		"unknown_trailer":       {"Gitops-Order: reboot VirtualMachine/db-1", otto, "Gitops-Order: reboot VirtualMachine/db-1", false, "trailer Gitops-Order is unknown, want one of Gitops-Target, Gitops-Approve, Gitops-Run"},
		"other_case":            {"gitops-approve: DIGEST", olga, "gitops-approve: DIGEST", false, "trailer gitops-approve is unknown"},
		"unknown_digest":        {"Gitops-Approve: " + unknown, olga, "", true, "no held step has this digest"},
		"one_of_two_digests":    {"Gitops-Approve: " + unknown + "\nGitops-Approve: 11111111111111111111111111111111", olga, "", true, "no held step has this digest"},
		"digests_in_one":        {"Gitops-Approve: DIGEST DIGEST", olga, "", false, "it has 2 digests, want one in each trailer"},
		"one_is_none":           {"Gitops-Approve: DIGEST, web-1", olga, "", false, `"web-1" is no digest of a step, want all of its 32 hexadecimal digits`},
		"part_of_a_digest":      {"Gitops-Approve: PART", olga, "", false, `"PART" is no digest of a step`},
		"guest_as_digest":       {"Gitops-Approve: VirtualMachine/web-1", olga, "", false, `"VirtualMachine/web-1" is no digest of a step`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				log := &eventLog{}
				l.opts.Logger = slog.New(log)
				l.trustOtto()
				l.binding = verify.BindingNone
				l.files["away/away.yaml"] = vmYAML("away-1", 203)
				l.files["home/cluster.yaml"], l.files["home/web.yaml"], l.files["home/db.yaml"] = l.files["cluster.yaml"], vmYAML("web-1", 201), vmYAML("db-1", 202)
				delete(l.files, "cluster.yaml")
				l.opts.Scope.Paths = []string{"home"}
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				delete(l.files, "home/web.yaml")
				l.push("one guest", alice)
				digest := l.digestOfHold(201)
				fill := strings.NewReplacer("DIGEST", digest, "PART", digest[:12])
				trailers := fill.Replace(test.trailers)
				first, _, _ := strings.Cut(trailers, "\n")
				want := fill.Replace(test.order)
				if want == "" {
					want = first
				}
				commit := l.push("Orders\n\n"+trailers+"\nGitops-Target: home/main\n", test.by)
				var got report.Order
				eventually(t, "the row of "+want, func() bool {
					orders := l.engine.Report().Orders
					i := slices.IndexFunc(orders, func(o report.Order) bool { return o.Commit == commit && o.Order == want })
					if i >= 0 {
						got = orders[i]
					}
					return i >= 0
				})
				if !got.HasNoEffect() || got.Unmatched != test.unmatched || !strings.Contains(got.Why, fill.Replace(test.why)) || got.Hint == "" {
					t.Errorf("got %+v, want it without effect, unmatched %t, because of %q, with a remedy", got, test.unmatched, test.why)
				}
				time.Sleep(10 * time.Minute)
				name, count := event.OrderRefused, 1
				if test.unmatched {
					name, count = event.OrderUnmatched, strings.Count(trailers, "Gitops-Approve")
				}
				events := log.of(name)
				if len(events) != count || !slices.ContainsFunc(events, func(e logged) bool {
					return e.attrs["commit"] == commit && strings.Contains(e.attrs["why"], fill.Replace(test.why)) && strings.Contains(fmt.Sprint(e.attrs["order"]), want)
				}) {
					t.Errorf("got events %v, want %d of %s with the sentence", events, count, want)
				}
				if l.destroyed(201) || l.sim.Effects(202, pvesim.Stopped) != 0 {
					t.Error("got the guest destroyed or restarted, want nothing done")
				}
				for _, o := range l.journal.State().Orders {
					if o.Commit == commit && o.State == journal.OrderRun {
						t.Errorf("got %+v executed", o)
					}
				}
			})
		})
	}
}
