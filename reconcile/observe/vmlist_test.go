package observe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/guest"
)

func TestParseVMList(t *testing.T) {
	// The blank lines are Proxmox's own.
	text := "{\n\"version\": 12,\n\"ids\": {\n\"100\": { \"node\": \"pve1\", \"type\": \"qemu\", \"version\": 7 },\n" +
		"\"210\": { \"node\": \"pve2\", \"type\": \"lxc\", \"version\": 0 },\n\"300\": { \"node\": \"pve2\", \"type\": \"openvz\", \"version\": 3 }}\n\n}\n"
	got, err := parseVMList([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := vmlist{version: 12, guests: map[int]listed{100: {guest.VirtualMachine, "pve1", 7}, 210: {guest.Container, "pve2", 0}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(vmlist{}, listed{})); diff != "" {
		t.Errorf("list differs (-want +got):\n%s", diff)
	}
	if empty, err := parseVMList([]byte("{\n\"version\": 0\n\n}\n")); err != nil || len(empty.guests) != 0 {
		t.Errorf("got %v, %v for a cluster without guests, want an empty list", empty, err)
	}
}

func TestParseVMListRefuses(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"empty":          {"", "unexpected end"},
		"cut_short":      {`{"version": 3, "ids": {"100": {"node": "pve1", "ty`, "unexpected end"},
		"two":            {`{"version": 3}{"version": 4}`, "invalid character"},
		"no_version":     {`{"ids": {}}`, "has no version"},
		"negative":       {`{"version": -1}`, "cannot unmarshal"},
		"guest_version":  {`{"version": 3, "ids": {"100": {"node": "pve1", "type": "qemu"}}}`, "100 has no version"},
		"guest_node":     {`{"version": 3, "ids": {"100": {"version": 1, "type": "qemu"}}}`, "no node"},
		"vmid_is_a_word": {`{"version": 3, "ids": {"all": {"node": "pve1", "type": "qemu", "version": 1}}}`, `"all" is not a vmid`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := parseVMList([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, error %v, want one with %q", got, err, test.want)
			}
		})
	}
}

func TestVMListRestarted(t *testing.T) {
	before := vmlist{version: 5, guests: map[int]listed{100: {version: 4}, 101: {version: 5}}}
	tests := map[string]struct {
		now  vmlist
		want bool
	}{
		"same":          {before, false},
		"changed":       {vmlist{version: 6, guests: map[int]listed{100: {version: 6}, 101: {version: 5}}}, false},
		"destroyed":     {vmlist{version: 6, guests: map[int]listed{101: {version: 5}}}, false},
		"whole_list":    {vmlist{version: 4, guests: before.guests}, true},
		"a_guest_alone": {vmlist{version: 9, guests: map[int]listed{100: {version: 3}, 101: {version: 9}}}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.now.restartedSince(before); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

// FuzzParseVMList checks that a list that parses contains only valid entries of guests, and parses to the same value again.
func FuzzParseVMList(f *testing.F) {
	f.Add([]byte(`{"version": 12, "ids": {"100": {"node": "pve1", "type": "qemu", "version": 7}}}`))
	f.Add([]byte("{\n\"version\": 0\n\n}\n"))
	f.Add([]byte(`{"version": 1, "ids": {"0": {"node": "", "type": "lxc", "version": 18446744073709551615}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parseVMList(text)
		if err != nil {
			return
		}
		var rows []string
		for vmid, entry := range list.guests {
			if vmid <= 0 || entry.node == "" || entry.kind == "" {
				t.Fatalf("got %d: %+v, which is not a guest", vmid, entry)
			}
			rows = append(rows, fmt.Sprintf("%q: {%q: %s, %q: %q, %q: %d}", fmt.Sprint(vmid), "node", jsonText(t, entry.node), "type", entry.kind.API(), "version", entry.version))
		}
		again, err := parseVMList(fmt.Appendf(nil, `{"version": %d, "ids": {%s}}`, list.version, strings.Join(rows, ",")))
		if err != nil || !cmp.Equal(list, again, cmp.AllowUnexported(vmlist{}, listed{})) {
			t.Errorf("got %+v, %v from what %+v prints as", again, err, list)
		}
	})
}
