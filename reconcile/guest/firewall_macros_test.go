package guest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"gitops-agent/internal/recordings"
)

// TestFirewallMacrosAreRecorded compares the table of macros with the list that Proxmox VE gave.
func TestFirewallMacrosAreRecorded(t *testing.T) {
	t.Parallel()
	recorded := make(map[string]bool)
	for _, f := range recordings.Second(t) {
		for _, e := range f.Exchanges {
			if !strings.HasSuffix(e.URL, "/firewall/macros") {
				continue
			}
			var reply struct{ Data []struct{ Macro string } }
			if err := json.Unmarshal([]byte(e.Reply), &reply); err != nil {
				t.Fatal(err)
			}
			for _, row := range reply.Data {
				recorded[row.Macro] = true
			}
		}
	}
	want, got := slices.Sorted(maps.Keys(recorded)), FirewallMacros()
	slices.Sort(got)
	if !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("got the macros %q, want the recorded %q", got, want)
	}
}
