package guest

import (
	"slices"
	"testing"
)

// TestChangedLabels: a label decides which policies hold a guest, so who changes it counts.
func TestChangedLabels(t *testing.T) {
	t.Parallel()
	plain, labelled := Desired{}, Desired{Labels: map[string]string{"stage": "prod"}}
	if got := ChangedFields(plain, labelled); !slices.Equal(got, []string{"metadata.labels"}) {
		t.Errorf("got %v, want metadata.labels", got)
	}
	if got := ChangedFields(labelled, Desired{Labels: map[string]string{"stage": "prod"}}); len(got) > 0 {
		t.Errorf("got %v, want nothing", got)
	}
}
