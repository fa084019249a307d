package guest_test

import (
	"testing"

	"gitops-agent/reconcile/guest"
)

// TestHeldGuestKeepsWhyItIsLeftAlone holds a guest to an earlier manifest while mode: observe is in force against its present one.
func TestHeldGuestKeepsWhyItIsLeftAlone(t *testing.T) {
	t.Parallel()
	held := guest.Desired{Observe: true, Kept: true}.HeldTo(guest.Desired{Node: "pve1"}, false)
	if !held.Observe || !held.Kept || held.Node != "pve1" {
		t.Errorf("got observe %t, kept %t, node %s, want the guards of the present manifest and the node of the earlier one", held.Observe, held.Kept, held.Node)
	}
}
