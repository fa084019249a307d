package statusview

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLimitsAllowALargeCluster reads a document of 10,000 guests, each a copy of the longest guest of the golden document.
func TestLimitsAllowALargeCluster(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "internal", "status", "testdata", "status.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Guests []json.RawMessage `json:"guests"`
	}
	if err := limits.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	longest := ""
	for _, guest := range document.Guests {
		if len(guest) > len(longest) {
			longest = string(guest)
		}
	}
	if err := limits.Check(`{"guests":[` + longest + strings.Repeat(","+longest, 9999) + `]}`); err != nil {
		t.Errorf("got %v for guests of %d bytes, want them read", err, len(longest))
	}
}
