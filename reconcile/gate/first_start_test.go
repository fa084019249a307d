package gate

import (
	"slices"
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/secret"
)

// waysToStart returns each way in which the agent can make a stopped guest run.
func waysToStart() map[string]func(*plan.Desired, *guest.Observed) {
	ordered := func(op cluster.Op, params map[string]string) func(*plan.Desired, *guest.Observed) {
		return func(want *plan.Desired, _ *guest.Observed) {
			ref := guest.Ref{Kind: guest.VirtualMachine, Name: "web-1"}
			open := order.Open{Request: order.Request{Op: op, Guest: ref, Params: params}}
			open.Key, open.VMID, open.Identity, open.State = "k", 201, fixture.Owned201().Identity, journal.OrderSeen
			want.Orders = map[int][]order.Open{201: {open}}
		}
	}
	return map[string]func(*plan.Desired, *guest.Observed){
		"state": func(want *plan.Desired, _ *guest.Observed) { want.Guests[0].State = guest.Running },
		"ha_add": func(want *plan.Desired, _ *guest.Observed) {
			want.Guests[0].HA = &guest.HAWanted{State: "started"}
		},
		"ha_set": func(want *plan.Desired, live *guest.Observed) {
			want.Guests[0].HA = &guest.HAWanted{State: "started"}
			live.HA, live.Resource = true, &guest.HA{State: "stopped"}
		},
		"order_start":    ordered(cluster.OpStart, nil),
		"order_rollback": ordered(cluster.OpRollback, map[string]string{order.KeyName: "s1"}),
	}
}

// Every way to start a guest is held while something keeps the guest from being started, and none is held without.
func TestNothingStartsAHinderedGuest(t *testing.T) {
	t.Parallel()
	device := func(value string) func(*plan.Desired, *guest.Observed) {
		return func(want *plan.Desired, _ *guest.Observed) {
			sub := map[string]string{}
			for part := range strings.SplitSeq(value, ",") {
				key, text, _ := strings.Cut(part, "=")
				sub[key] = text
			}
			want.Guests[0].Intents = []guest.Intent{{Key: "hostpci0", Verb: guest.Want, Sub: sub}}
		}
	}
	hindrances := map[string]struct {
		prepare func(*plan.Desired, *guest.Observed)
		reason  reason.Name // of the hold; "" if a step of the plan comes first, or nothing does
		first   cluster.Op  // that comes first
		alone   bool        // only a guest that was never started is hindered
	}{
		"none":        {prepare: func(*plan.Desired, *guest.Observed) {}},
		"root_device": {prepare: device("host=0000:01:00.0"), reason: reason.NeedsRoot, alone: true},
		"waived": {prepare: func(want *plan.Desired, live *guest.Observed) {
			device("host=0000:01:00.0")(want, live)
			want.Guests[0].StartWithout = []string{"hostpci0"}
		}},
		"mapped_device": {prepare: device("mapping=gpu"), first: cluster.OpConfig, alone: true},
		"secret": {prepare: func(want *plan.Desired, _ *guest.Observed) {
			want.Guests[0].Secrets = []guest.Secret{fixture.WebPassword}
			want.Secrets = map[secret.Place]secret.State{{VMID: 201, Key: "cipassword"}: {Problem: &secret.Error{Name: "web", Reason: "it is not there"}}}
		}, reason: reason.Secret},
		"firewall": {prepare: func(want *plan.Desired, live *guest.Observed) {
			want.Guests[0].Firewall = &guest.FirewallWanted{}
			live.Firewall = &guest.FirewallSeen{Err: "no answer"}
		}, reason: reason.NotObserved},
	}
	for way, ask := range waysToStart() {
		for name, h := range hindrances {
			for _, unstarted := range []bool{true, false} {
				owned := fixture.Owned201()
				owned.Unstarted = unstarted
				want := plan.Desired{Cluster: "home", Guests: []guest.Desired{fixture.WantWeb()}, Owned: map[int]journal.Owned{201: owned}}
				live := fixture.LiveWeb(guest.StatusStopped)
				h.prepare(&want, &live)
				ask(&want, &live)
				section := guest.SnapshotSection{Name: "s1", Keys: map[string]string{"vmstate": "local-lvm:vm-201-state-s1", "smbios1": "uuid=" + fixture.TestUUID}}
				live.Snapshots = &guest.Snapshots{Digest: live.Digest, Sections: []guest.SnapshotSection{section}}
				p := plan.New(want, cluster.Snapshot{Guests: map[int]guest.Observed{201: live}}).Guests[0]
				g := Gate{Cluster: "home", Owned: want.Owned, Approvals: Approvals{}, NamedGuests: 1}
				starts := slices.DeleteFunc(slices.Concat(p.Orders, p.Steps), func(s plan.Step) bool { return !s.Starts() })
				if len(starts) == 0 && h.reason == reason.NotObserved && len(want.Orders) > 0 {
					continue // orders of a guest that was not read wait
				}
				if len(starts) != 1 || starts[0].Refused != "" {
					t.Errorf("%s, %s: got %+v, want one step that starts the guest", way, name, starts)
					continue
				}
				for _, s := range starts { // approvals release none of them
					g.Approvals[s.Digest("home", owned.Identity)] = []Approval{{Key: "k", Person: "olga"}}
				}
				because, first := h.reason, h.first
				if h.alone && !unstarted {
					because, first = "", ""
				}
				if v := g.Judge(starts[0]); v.Held != (because != "") || v.Reason != because {
					t.Errorf("%s, %s, never started %t: got held %t for %q (%s), want %q", way, name, unstarted, v.Held, v.Reason, v.Message, because)
				}
				switch next, _, ok := g.Next(p); {
				case first != "" && (!ok || next.Op != first):
					t.Errorf("%s, %s: got %s next, want %s before the guest is started", way, name, next.Op, first)
				case because != "" && ok && next.Starts():
					t.Errorf("%s, %s: got %s released", way, name, next.Op)
				}
				if first == "" {
					continue
				}
				g.NoWrites = "paused"
				if v := g.judgeHindrance(starts[0]); !v.Held || !strings.Contains(v.Message, "hostpci0") || !strings.Contains(v.Message, "paused") {
					t.Errorf("%s, %s: got held %t (%s), want it held with the step before it", way, name, v.Held, v.Message)
				}
			}
		}
	}
}
