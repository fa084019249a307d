package setup

import (
	"os"
	"strings"
	"testing"
)

// The version that init proposes is the one with which test/stack signs.
func TestProposedGitsignIsTested(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../test/sigstore/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(GitsignModule, "@", " ", 1); !strings.Contains(string(text), want) {
		t.Errorf("test/sigstore/go.mod: got no %q", want)
	}
}
