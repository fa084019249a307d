package guest

import (
	"net/url"
	"strings"
	"testing"

	"gitops-agent/internal/recordings"
)

// TestRecordedEffects replays what was written to running guests: a change is a Restart exactly where Proxmox kept the value
// waiting, and the value that waited was one that Diff calls waiting.
func TestRecordedEffects(t *testing.T) {
	tests := map[string]Kind{"11-running-vm-config": VirtualMachine, "26-lxc-power-and-running": Container}
	compared := 0
	for _, file := range recordings.First(t) {
		kind, compares := tests[file.Name]
		if !compares {
			continue
		}
		compared++
		t.Run(string(kind), func(t *testing.T) { checkEffects(t, kind, file.Exchanges) })
	}
	if compared != len(tests) {
		t.Errorf("got %d of the files of running guests, want %d", compared, len(tests))
	}
}

func checkEffects(t *testing.T, kind Kind, recorded []recordings.Exchange) {
	t.Helper()
	var before map[string]Value
	var written url.Values
	checked := 0
	for _, e := range recorded {
		switch {
		case e.Method == "PUT" && strings.HasSuffix(e.URL, "/config") && e.Status == 200:
			written = formOf(t, e)
		case e.Method == "POST" && strings.Contains(e.URL, "/status/"):
			before, written = nil, nil // the guest goes to another run state
		case e.Method == "GET" && strings.HasSuffix(e.URL, "/pending") && e.Status == 200:
			after := pendingOf(t, e.Reply)
			if before != nil && len(written) == 1 {
				checked += checkEffect(t, kind, written, before, after)
			}
			before, written = after, nil
		}
	}
	if checked < 15 {
		t.Errorf("writes: got %d, want at least 15", checked)
	}
}

// checkEffect compares one recorded write with what Diff says of it, and returns how many keys it compared.
func checkEffect(t *testing.T, kind Kind, written url.Values, before, after map[string]Value) int {
	t.Helper()
	for key := range written {
		sent := written.Get(key)
		in := intentOf(roundTrip{kind: kind, key: key, sent: sent})
		if key == "delete" {
			key, in = sent, absent(sent)
		}
		if key == "revert" || key == "features" {
			return 0 // nothing is wanted; a right that the recording did not have
		}
		o := Observed{Ref: Ref{Kind: kind, VMID: 120}, Status: StatusRunning, Keys: before}
		changes := Diff(want(o, in), o)
		if len(changes) == 0 {
			return 0
		}
		waited := after[key].Pending != nil || after[key].Delete
		// A drive that goes is called disruptive even where it goes at the next start only.
		if waits := changes[0].Class == Restart || waited && changes[0].Write == WriteDelete; waits != waited {
			t.Errorf("%s from %+v to %q: got %s, but Proxmox kept it waiting: %t", key, before[key], sent, brief(changes[0]), waited)
		}
		o.Keys = after
		for _, c := range Diff(want(o, in), o) {
			if !waited || !c.Waits {
				t.Errorf("%s written as %q, read back as %+v: got %s, want only what waits", key, sent, after[key], brief(c))
			}
		}
	}
	return 1
}

// formOf returns the parameters of a request.
func formOf(t *testing.T, e recordings.Exchange) url.Values {
	t.Helper()
	if e.Body == nil {
		return nil
	}
	values, err := url.ParseQuery(*e.Body)
	if err != nil || e.ContentType != "application/x-www-form-urlencoded" {
		t.Fatalf("%s %s: got a body of type %q, %v, want a form", e.Method, e.URL, e.ContentType, err)
	}
	return values
}
