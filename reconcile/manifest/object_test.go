package manifest_test

import (
	"testing"

	"gitops-agent/reconcile/kinds"
)

// TestFieldsOfKindsAreTheirOwn: a field of a kind with the name of a field that every kind has would hide it.
func TestFieldsOfKindsAreTheirOwn(t *testing.T) {
	for _, k := range kinds.All() {
		taken := map[string]bool{"id": true, "comment": true, "adopt": true, "mode": true, "lifecycle": true}
		for _, f := range k.Fields {
			if taken[f.Name] {
				t.Errorf("%s: got the field %s twice, want another name", k.Name, f.Name)
			}
			taken[f.Name] = true
		}
	}
}
