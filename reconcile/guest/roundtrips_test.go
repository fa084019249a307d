package guest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"gitops-agent/internal/recordings"
	"gitops-agent/reconcile/guest/form"
)

// roundTrip is one recorded write and what was read back.
type roundTrip struct {
	kind           Kind
	key, sent, got string
	refusal        string // "" where it was stored
}

// roundTrips returns the recorded pairs. The containers' block begins with the first hostname and ends with a stored unused0.
func roundTrips(t *testing.T) []roundTrip {
	t.Helper()
	var all []roundTrip
	kind := VirtualMachine
	for _, row := range recordings.Roundtrips(t) {
		if row.Key == "hostname" {
			kind = Container
		}
		got := row.Got
		if strings.HasPrefix(got, `"`) {
			if err := json.Unmarshal([]byte(row.Got), &got); err != nil {
				t.Fatalf("decode %s: %v", row.Got, err)
			}
		}
		all = append(all, roundTrip{kind, row.Key, row.Sent, got, row.Refusal})
		if kind == Container && row.Key == "unused0" && row.Same {
			kind = VirtualMachine
		}
	}
	return all
}

// storedRoundTrips are the recorded writes that Proxmox took, of keys that the table holds.
func storedRoundTrips(t *testing.T) []roundTrip {
	t.Helper()
	keepsOld := map[string]bool{"sshkeys": true, "cipassword": true} // an empty one is not stored: Diff deletes the key instead
	return slices.DeleteFunc(roundTrips(t), func(r roundTrip) bool {
		row, known := find(r.kind, r.key)
		return !known || row.effect == never || r.refusal != "" || keepsOld[r.key] && r.sent == ""
	})
}

// TestRecordedRoundTripsHold: what was written compares equal to what came back, for every key of the table.
func TestRecordedRoundTripsHold(t *testing.T) {
	stored := storedRoundTrips(t)
	for _, r := range stored {
		o := live(nil)
		o.Kind = r.kind
		if r.got != "" {
			o.Keys[r.key] = Value{Text: r.got, Set: true}
		}
		for _, c := range Diff(want(o, intentOf(r)), o) {
			t.Errorf("%s: wrote %q, read %q: got change %s, want none", r.key, r.sent, r.got, brief(c))
		}
	}
	if len(stored) < 270 {
		t.Errorf("pairs: got %d, want at least 270", len(stored))
	}
}

// intentOf is the intent behind a recorded write: allocation syntax as storage and size.
func intentOf(r roundTrip) Intent {
	row, _ := find(r.kind, r.key)
	in := text(r.key, r.sent)
	if !row.drive {
		return in
	}
	parts := row.syntax.parse(nil, r.sent)
	volume := parts.text("volume")
	if !form.Allocates(volume) {
		return in
	}
	in.Text, in.Sub = "", map[string]string{}
	for _, part := range parts {
		in.Sub[part.name] = part.text
	}
	storage, size, _ := strings.Cut(volume, ":")
	in.Sub["storage"] = storage
	delete(in.Sub, "volume")
	switch {
	case size == cloudInitVolume:
		in.Sub["volume"] = cloudInitVolume
	case in.Sub["import-from"] == "":
		in.Sub["size"] = size + "G"
	}
	return in
}

// TestRecordedRefusalsAreRefused: what Proxmox refused for its format, Check refuses as well.
func TestRecordedRefusalsAreRefused(t *testing.T) {
	elsewhere := map[string]bool{ // refused for what exists on the host, or read as text here
		"cpu=nosuch": true, "cpu=custom-x": true, "hookscript=local:snippets/hook.sh": true, "boot=order=nosuch0": true,
		"password=secret123": true, "ssh-public-keys=ssh-rsa x": true, // taken at creation
	}
	refused := 0
	for _, r := range roundTrips(t) {
		_, known := find(r.kind, r.key)
		if !known || !strings.Contains(r.refusal, "400 Parameter verification failed") || elsewhere[r.key+"="+r.sent] {
			continue
		}
		refused++
		if err := Check(r.kind, r.key, r.sent); err == nil {
			t.Errorf("check %s %q: got no error, want one as Proxmox gave: %s", r.key, r.sent, r.refusal)
		}
	}
	if refused < 40 {
		t.Errorf("refusals: got %d, want at least 40", refused)
	}
}

// TestRecordedValuesAreAccepted: what Proxmox stored, Check accepts, but for the syntax that allocates.
func TestRecordedValuesAreAccepted(t *testing.T) {
	for _, r := range roundTrips(t) {
		row, known := find(r.kind, r.key)
		if !known || r.refusal != "" || isBlank(r.sent) || row.effect == never || row.drive && form.Allocates(volumeOf(r.sent)) {
			continue
		}
		if err := Check(r.kind, r.key, r.sent); err != nil {
			t.Errorf("check %s %q: got %v, but Proxmox stored it", r.key, r.sent, err)
		}
		if err := Check(r.kind, r.key, r.got); err != nil && !isBlank(r.got) {
			t.Errorf("check %s %q: got %v, but Proxmox reads so", r.key, r.got, err)
		}
	}
}

// pendingOf reads the keys of a recorded /pending reply.
func pendingOf(t *testing.T, body string) map[string]Value {
	t.Helper()
	var reply struct {
		Data []struct {
			Key            string
			Value, Pending any
			Delete         int
		}
	}
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&reply); err != nil {
		t.Fatalf("decode pending: %v", err)
	}
	found := map[string]Value{}
	for _, entry := range reply.Data {
		v := Value{Delete: entry.Delete != 0}
		if entry.Value != nil {
			v.Text, v.Set = plain(entry.Value), true
		}
		if entry.Pending != nil {
			pending := plain(entry.Pending)
			v.Pending = &pending
		}
		found[entry.Key] = v
	}
	return found
}

func plain(value any) string {
	if number, ok := value.(json.Number); ok {
		return number.String()
	}
	text, _ := value.(string)
	return text
}
