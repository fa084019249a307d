package guest

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestRecordedEffects replays what was written to running guests: a change is a Restart exactly where Proxmox kept the value
// waiting, and the value that waited was one that Diff calls waiting.
func TestRecordedEffects(t *testing.T) {
	tests := map[string]Kind{"transcripts/11-running-vm-config.json": VirtualMachine, "transcripts/26-lxc-power-and-running.json": Container}
	for name, kind := range tests {
		t.Run(string(kind), func(t *testing.T) {
			var recorded transcript
			if err := json.Unmarshal(sharedFile(t, name), &recorded); err != nil {
				t.Fatalf("decode %s: %v", name, err)
			}
			checkEffects(t, kind, recorded)
		})
	}
}

func checkEffects(t *testing.T, kind Kind, recorded transcript) {
	t.Helper()
	var before map[string]Value
	var written map[string]any
	checked := 0
	for _, entry := range recorded.Entries {
		request, response := entry.Request, entry.Response
		switch {
		case request.Method == "PUT" && strings.HasSuffix(request.URL, "/config") && response.Status == 200:
			written = request.Params
		case request.Method == "POST" && strings.Contains(request.URL, "/status/"):
			before, written = nil, nil // the guest goes to another run state
		case request.Method == "GET" && strings.HasSuffix(request.URL, "/pending") && response.Status == 200:
			after := pendingOf(t, response.Body)
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
func checkEffect(t *testing.T, kind Kind, written map[string]any, before, after map[string]Value) int {
	t.Helper()
	for key, value := range written {
		sent := plainNumber(value)
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

func plainNumber(value any) string {
	if number, ok := value.(float64); ok {
		return decimal(number)
	}
	return plain(value)
}
