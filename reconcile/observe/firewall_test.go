package observe

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
)

// walls returns a reader of guests with the vmids 1000 to 1000+n-1, and these vmids.
func walls(n int) (*fixture.FakeReader, []int, map[int]bool) {
	reader := &fixture.FakeReader{Answers: fixture.Answers{Guests: map[int]guest.Observed{}, Firewalls: map[int]guest.FirewallSeen{}}}
	wanted := map[int]bool{}
	var vmids []int
	for i := range n {
		vmid := 1000 + i
		row := cluster.Row{Kind: guest.VirtualMachine, VMID: vmid, Node: "pve1", Status: guest.StatusRunning}
		reader.Listed.Rows = append(reader.Listed.Rows, row)
		vmids = append(vmids, vmid)
		wanted[vmid] = false
	}
	return reader, vmids, wanted
}

// observeFor runs rounds every tick, as the engine does, and returns how often firewalls and guests were read.
func observeFor(t *testing.T, o *Observer, reader *fixture.FakeReader, request Request, d time.Duration) (firewalls, guests int) {
	t.Helper()
	reader.Asked = nil
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(o.tick) {
		for _, vmid := range request.VMIDs { // a reading has the time at which it was made
			reader.Guests[vmid] = seenAt(vmid, time.Now())
			reader.Firewalls[vmid] = guest.FirewallSeen{ReadAt: time.Now()}
		}
		if err := o.run(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	for _, call := range reader.Asked {
		switch {
		case strings.HasPrefix(call, "firewall "):
			firewalls++
		case strings.HasPrefix(call, "observe "):
			guests++
		}
	}
	return firewalls, guests
}

// TestFirewallsAreReadLessOften holds how many readings 1,000 guests with firewalls cost: one of ten readings of a guest includes its firewall. Guests
// without one are never asked for it.
func TestFirewallsAreReadLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const guests = 1000
		reader, vmids, wanted := walls(guests)
		o := New(reader, 10*time.Second, time.Minute)
		firewalls, _ := observeFor(t, o, reader, Request{VMIDs: vmids, Firewalls: wanted}, time.Minute)
		if firewalls != guests {
			t.Errorf("got %d readings of firewalls in the first minute, want each once", firewalls)
		}
		firewalls, read := observeFor(t, o, reader, Request{VMIDs: vmids, Firewalls: wanted}, 20*time.Minute)
		t.Logf("1,000 guests, 20 minutes: %d readings of guests, %d of firewalls", read, firewalls)
		if firewalls < guests || firewalls > 2*guests || read < 18*guests {
			t.Errorf("got %d readings of firewalls and %d of guests in 20 minutes, want one of ten", firewalls, read)
		}
		if firewalls, _ = observeFor(t, o, reader, Request{VMIDs: vmids}, 20*time.Minute); firewalls != 0 {
			t.Errorf("got %d readings of firewalls that no manifest describes, want none", firewalls)
		}
	})
}

func TestFirewallIsReadAfterAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, vmids, wanted := walls(1)
		o := New(reader, 10*time.Second, time.Minute)
		request := Request{VMIDs: vmids, Firewalls: wanted}
		observeFor(t, o, reader, request, time.Minute)
		o.Learn(Sighting{VMID: vmids[0], Again: true})
		if firewalls, _ := observeFor(t, o, reader, request, 10*time.Second); firewalls != 1 {
			t.Errorf("got %d readings of the firewall after a lane has changed the guest, want one", firewalls)
		}
	})
}

func TestFirewallThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, vmids, wanted := walls(1)
		reader.FirewallErr = errors.New("no answer")
		o := New(reader, 10*time.Second, time.Minute)
		observeFor(t, o, reader, Request{VMIDs: vmids, Firewalls: wanted}, 10*time.Second)
		got := o.Snapshot()
		if fw := got.Guests[vmids[0]].Firewall; fw == nil || fw.Err == "" || got.Datacenter.FirewallRead {
			t.Errorf("got firewall %+v and datacenter %+v, want the error, and nothing known", fw, got.Datacenter)
		}
	})
}
