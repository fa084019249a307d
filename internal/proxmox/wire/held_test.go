package wire

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/bounds"
)

// TestRepliesAboutGuestsAreBoundedTogether: many guests with replies of the largest size use up the sum, replies of a usual size do not count, and a smaller reply or one
// with an error makes room.
func TestRepliesAboutGuestsAreBoundedTogether(t *testing.T) {
	t.Parallel()
	var h held
	path := func(n int) string { return aboutGuest(fmt.Sprintf("/api2/json/nodes/pve1/qemu/%d/pending", n)) }
	const most = maxHeld / maxGuestReply
	for round := range 2 { // the newest reply replaces the one before
		for n := range most {
			if err := h.take(path(n), maxGuestReply); err != nil {
				t.Fatalf("round %d: got %v for reply %d, want room for %d", round, err, n, most)
			}
		}
	}
	if err := h.take(path(most), fewBytes+1); !errors.Is(err, bounds.ErrExceeded) {
		t.Errorf("got %v for one more reply, want %v", err, bounds.ErrExceeded)
	}
	for n := most; n < 100*most; n++ {
		if err := h.take(path(n), fewBytes); err != nil {
			t.Fatalf("got %v for a reply of a usual size, want none", err)
		}
	}
	if err := h.take(path(0), fewBytes); err != nil {
		t.Fatal(err)
	}
	h.drop(path(1))
	for n := range 2 {
		if err := h.take(path(most+n), maxGuestReply); err != nil {
			t.Errorf("got %v after two guests made room, want none", err)
		}
	}
	if len(h.sizes) != most || h.sum != maxHeld {
		t.Errorf("got %d replies of %d bytes, want %d of %d", len(h.sizes), h.sum, most, maxHeld)
	}
}

// TestRepliesOfGuestsThatAreGone moves guests, which count once, and removes them: an hour after its last reply a guest counts no more.
func TestRepliesOfGuestsThatAreGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h held
		const most = maxHeld / maxGuestReply
		take := func(node string, n int) error {
			return h.take(aboutGuest(fmt.Sprintf("/api2/json/nodes/%s/qemu/%d/pending", node, n)), maxGuestReply)
		}
		for _, node := range []string{"pve1", "pve2"} {
			for n := range most {
				if err := take(node, n); err != nil {
					t.Fatalf("guest %d on %s: %v", n, node, err)
				}
			}
		}
		time.Sleep(keptFor / 2)
		if err := take("pve1", 0); err != nil {
			t.Fatal(err)
		}
		if err := take("pve1", most); !errors.Is(err, bounds.ErrExceeded) {
			t.Errorf("got %v within the hour, want %v", err, bounds.ErrExceeded)
		}
		time.Sleep(keptFor/2 + time.Second)
		for n := range most - 1 {
			if err := take("pve1", most+n); err != nil {
				t.Errorf("guest %d after the hour: %v", most+n, err)
			}
		}
		if err := take("pve1", 3*most); !errors.Is(err, bounds.ErrExceeded) {
			t.Errorf("got %v, want the guest that was read again to count still", err)
		}
	})
}

func TestPathsAboutGuests(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/api2/json/nodes/pve1/qemu/100/pending": true, "/api2/json/nodes/pve1/lxc/100/firewall/rules": true,
		"/api2/json/nodes/pve1/qemu": false, "/api2/json/cluster/resources": false, "/api2/json/nodes/pve1/tasks/UPID:x/log": false,
	} {
		if got := aboutGuest(path) != ""; got != want {
			t.Errorf("%s: got %t, want %t", path, got, want)
		}
	}
}
