package reconcile_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/observe"
)

// TestListOfGuestsLagsBehindAStart reads a guest right after the agent has started and stopped it, as a new process does, from a cluster whose list of guests is updated
// every ten seconds. The guest itself decides.
func TestListOfGuestsLagsBehindAStart(t *testing.T) {
	runLabOn(t, pvesim.Options{ResourcesPeriod: 10 * time.Second}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		time.Sleep(11 * time.Second)
		l.push("a guest", alice)
		defer l.start()()
		l.converge()
		for state, want := range map[string]guest.Status{"running": guest.StatusRunning, "stopped": guest.StatusStopped} {
			l.files["web.yaml"] = vmYAML("web-1", 201, "state: "+state, "lifecycle: {forceStop: true, rebootPolicy: auto}")
			l.push(state, alice)
			eventually(l, state, func() bool {
				if l.sim.Running(201) != (want == guest.StatusRunning) {
					return false
				}
				seen, err := observe.ReadAll(l.Context(), l.cluster, []int{201}, nil, nil)
				l.ok(err)
				if got := seen.Guests[201].Status; got != want {
					t.Errorf("got the guest %s, want %s", got, want)
				}
				return true
			})
			time.Sleep(time.Minute)
		}
	})
}

// TestListOfGuestsLagsBehindAPerson reads guests right after a person has changed how they run, from the same lagging list.
func TestListOfGuestsLagsBehindAPerson(t *testing.T) {
	runLabOn(t, pvesim.Options{ResourcesPeriod: 10 * time.Second}, func(t *testing.T, l *lab) {
		l.files["web.yaml"], l.files["dns.yaml"] = vmYAML("web-1", 201), dnsYAML()
		time.Sleep(11 * time.Second)
		l.push("two guests", alice)
		stop := l.start()
		l.converge()
		stop()
		for _, test := range []struct {
			kind, call string
			vmid       int
			want       guest.Status
		}{
			{"qemu", "start", 201, guest.StatusRunning},
			{"qemu", "suspend", 201, guest.StatusPaused},
			{"qemu", "resume", 201, guest.StatusRunning},
			{"qemu", "stop", 201, guest.StatusStopped},
			{"lxc", "start", 210, guest.StatusRunning},
			{"lxc", "stop", 210, guest.StatusStopped},
		} {
			time.Sleep(11 * time.Second)
			if _, err := observe.ReadAll(l.Context(), l.cluster, []int{test.vmid}, nil, nil); err != nil { // a round of the list is read before the change
				t.Fatal(err)
			}
			l.callAs("root@pam!full", "POST", fmt.Sprintf("/nodes/pve1/%s/%d/status/%s", test.kind, test.vmid, test.call), "")
			time.Sleep(3 * time.Second) // the task ends, and the list does not change before ten seconds
			seen, err := observe.ReadAll(l.Context(), l.cluster, []int{test.vmid}, nil, nil)
			l.ok(err)
			if got := seen.Guests[test.vmid].Status; got != test.want {
				t.Errorf("got %s after %s of %d, want %s", got, test.call, test.vmid, test.want)
			}
		}
	})
}

// TestFirstRoundAsksNodesForRunStates reads a fleet of which a person has just started, stopped and paused guests, as a new process does. The lists of the nodes, which do not lag, confirm the
// run states of the others, so that a first reading of the fleet costs no further call for each guest.
func TestFirstRoundAsksNodesForRunStates(t *testing.T) {
	runLabOn(t, pvesim.Options{Guests: 60, Seed: 7, ResourcesPeriod: 10 * time.Second}, func(t *testing.T, l *lab) {
		time.Sleep(11 * time.Second)
		var vmids []int
		for _, g := range l.sim.Guests() {
			vmids = append(vmids, g.VMID)
		}
		_, err := observe.ReadAll(l.Context(), l.cluster, vmids, nil, nil)
		l.ok(err)
		time.Sleep(11 * time.Second)
		_, err = observe.ReadAll(l.Context(), l.cluster, vmids, nil, nil) // the list is as old as this
		l.ok(err)
		changed := make(map[int]guest.Status)
		for _, g := range l.sim.Guests()[:40] {
			kind, call, after := "qemu", "stop", guest.StatusStopped
			if g.Kind == pvesim.LXC {
				kind = "lxc"
			}
			if !l.sim.Running(g.VMID) {
				call, after = "start", guest.StatusRunning
			}
			if l.sim.Running(g.VMID) && g.Kind == pvesim.QEMU && g.VMID%2 == 0 {
				call, after = "suspend", guest.StatusPaused
			}
			if len(changed) < 6 && g.VMID%3 == 0 {
				l.callAs("root@pam!full", "POST", fmt.Sprintf("/nodes/%s/%s/%d/status/%s", g.Node, kind, g.VMID, call), "")
				changed[g.VMID] = after
			}
		}
		time.Sleep(3 * time.Second)
		l.sim.ResetCounters()
		seen, err := observe.ReadAll(l.Context(), l.cluster, vmids, nil, nil)
		l.ok(err)
		reads := l.sim.Counters().Reads
		for vmid, want := range changed {
			if got := seen.Guests[vmid].Status; got != want {
				t.Errorf("got guest %d %s, want %s", vmid, got, want)
			}
		}
		if most := len(vmids) + len(changed) + 4; len(changed) != 6 || !slices.Contains(slices.Collect(maps.Values(changed)), guest.StatusPaused) || reads > most {
			t.Errorf("got %d calls for %d guests of which %d changed, want at most %d", reads, len(vmids), len(changed), most)
		}
	})
}
