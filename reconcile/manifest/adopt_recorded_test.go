package manifest_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gitops-agent/internal/recordings"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
)

// withEnv pins everything that can be.
var withEnv = manifest.AdoptOptions{Cluster: "home", Name: "erp", Env: true}

// TestRecordedGuestsPlanEmpty adopts every guest that was recorded from Proxmox's own code, including guests with pending changes.
func TestRecordedGuestsPlanEmpty(t *testing.T) {
	t.Parallel()
	guests := recordedGuests(t, slices.Concat(recordings.First(t), recordings.Second(t)))
	for where, o := range guests {
		a, err := manifest.Adopt(o, withEnv)
		if err != nil {
			t.Errorf("%s: adopt: %v", where, err)
			continue
		}
		for _, c := range guest.Diff(wanted(t, a.Data), o) {
			t.Errorf("%s: got change %+v, want none, in\n%s", where, c, a.Data)
		}
	}
	if len(guests) < 700 {
		t.Errorf("got %d guests, want at least 700", len(guests))
	}
}

var guestURL = regexp.MustCompile(`/(qemu|lxc)/([0-9]+)/(config|pending)`)

// recordedGuests returns the guests in the recorded replies by where the first of its kind stands, each once.
func recordedGuests(t *testing.T, files []recordings.File) map[string]guest.Observed {
	t.Helper()
	out, seen := map[string]guest.Observed{}, map[string]bool{}
	for _, file := range files {
		for i, e := range file.Exchanges {
			match := guestURL.FindStringSubmatch(e.URL)
			if match == nil || e.Method != "GET" || e.Status != 200 || seen[e.Reply] {
				continue
			}
			seen[e.Reply] = true
			o := guest.Observed{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "x"}, Node: "pve1", Status: guest.StatusRunning}
			if match[1] == "lxc" {
				o.Kind = guest.Container
			}
			o.VMID, _ = strconv.Atoi(match[2]) // digits by the pattern
			o.Keys = recordedKeys(t, match[3], e.Reply)
			out[fmt.Sprintf("%s:%d", file.Name, i)] = o
		}
	}
	return out
}

// recordedKeys reads the reply of a config or of a pending call.
func recordedKeys(t *testing.T, call, body string) map[string]guest.Value {
	t.Helper()
	out := map[string]guest.Value{}
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.UseNumber()
	if call == "config" {
		var reply struct{ Data map[string]any }
		if err := decoder.Decode(&reply); err != nil {
			t.Fatalf("decode config: %v", err)
		}
		for key, value := range reply.Data {
			out[key] = guest.Value{Text: fmt.Sprint(value), Set: true}
		}
		return out
	}
	var reply struct {
		Data []struct {
			Key            string
			Value, Pending any
			Delete         int
		}
	}
	if err := decoder.Decode(&reply); err != nil {
		t.Fatalf("decode pending: %v", err)
	}
	for _, row := range reply.Data {
		value := guest.Value{Delete: row.Delete != 0}
		if row.Value != nil {
			value.Text, value.Set = fmt.Sprint(row.Value), true
		}
		if row.Pending != nil {
			next := fmt.Sprint(row.Pending)
			value.Pending = &next
		}
		out[row.Key] = value
	}
	return out
}

// TestRecordedGuestsCanBeCreatedAgain makes the recorded guests on the simulator, which has none of the recorder's host.
func TestRecordedGuestsCanBeCreatedAgain(t *testing.T) {
	t.Parallel()
	made := map[string]bool{} // manifests: many recordings differ in nothing that a manifest says
	for where, o := range recordedGuests(t, recordings.First(t)) {
		a, err := manifest.Adopt(o, withEnv)
		if err != nil {
			t.Fatalf("%s: adopt: %v", where, err)
		}
		_, body, _ := strings.Cut(string(a.Data), "\n"+"apiVersion:")
		unreadable := slices.ContainsFunc(a.Left, func(l manifest.LeftOut) bool { return l.Key == "rootfs" })
		if made[body] || unreadable { // a text that somebody wrote over the volume's: nothing can be made of it, and the manifest says so
			continue
		}
		made[body] = true
		t.Run(where, func(t *testing.T) {
			d := wanted(t, withSource(t, a.Data))
			again, refusal := createAgain(t, d)
			if refusal != "" {
				t.Fatalf("got refusal %q, want none, of\n%s", refusal, a.Data)
			}
			checkAlike(t, a, d, o, again)
		})
	}
	t.Logf("simulator: %d recorded guests created again", len(made))
	if len(made) < 200 {
		t.Errorf("got %d guests, want at least 200", len(made))
	}
}
