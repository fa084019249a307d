package recordings_test

import (
	"net/http"
	"strings"
	"testing"

	"gitops-agent/internal/recordings"
)

// TestRecordingsAreWhole counts what is embedded, so that no exchange is lost unnoticed.
func TestRecordingsAreWhole(t *testing.T) {
	tests := map[string]struct {
		files                []recordings.File
		count, exchanges     int
		firstName, finalName string
	}{
		"first":  {recordings.First(t), 40, 2344, "01-auth-and-http", "41-sshkeys-slash"},
		"second": {recordings.Second(t), 19, 1591, "50-guest-firewall-qemu", "68-download-and-protected-backup"},
		"third":  {recordings.Third(t), 4, 2664, "72-ha-states", "75-quorum-and-node-down"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			exchanges := 0
			for _, f := range test.files {
				exchanges += len(f.Exchanges)
				for i, e := range f.Exchanges {
					if e.Method == "" || !strings.HasPrefix(e.URL, "/api2/json") || e.Status < http.StatusOK && (name != "third" || e.Status != 0) {
						t.Errorf("%s/%d: got %q %q with status %d, want a request and a reply", f.Name, i, e.Method, e.URL, e.Status)
					}
				}
			}
			if len(test.files) != test.count || exchanges != test.exchanges {
				t.Errorf("got %d files with %d exchanges, want %d with %d", len(test.files), exchanges, test.count, test.exchanges)
			}
			if first, final := test.files[0].Name, test.files[len(test.files)-1].Name; first != test.firstName || final != test.finalName {
				t.Errorf("got files %s to %s, want %s to %s", first, final, test.firstName, test.finalName)
			}
		})
	}
}

func TestRoundtripsAndSchemaAreWhole(t *testing.T) {
	if got := len(recordings.Roundtrips(t)); got != 395 {
		t.Errorf("got %d recorded writes, want 395", got)
	}
	parts, keys := 0, 0
	for _, kind := range []string{"qemu", "lxc"} {
		for _, p := range recordings.Schema(t, kind) {
			keys++
			parts += len(p.Parts)
		}
	}
	if keys != 1328 || parts < 9580 {
		t.Errorf("got a schema of %d keys and %d parts, want 1328 and 9580 or more", keys, parts)
	}
}

// TestMacrosHaveNoText holds that the prose of the firewall's macros was left out.
func TestMacrosHaveNoText(t *testing.T) {
	macros := 0
	for _, f := range recordings.Second(t) {
		for _, e := range f.Exchanges {
			if !strings.HasSuffix(e.URL, "/firewall/macros") {
				continue
			}
			macros++
			if all, empty := strings.Count(e.Reply, `"descr":`), strings.Count(e.Reply, `"descr":""`); all == 0 || all != empty {
				t.Errorf("got %d descriptions of macros, %d of them empty, want all empty", all, empty)
			}
		}
	}
	if macros == 0 {
		t.Error("got no list of macros, want one")
	}
}
