package wire

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"gitops-agent/internal/bounds"
)

// Bounds of the replies about single guests. The agent keeps the newest reply about each guest that it manages, so their sum is bounded too. The configuration of a
// guest has some kilobytes, and tens of kilobytes with long notes.
const (
	maxGuestReply = 1 << 20  // bytes
	fewBytes      = 16 << 10 // of a reply that does not count
	maxHeld       = 32 << 20 // of all others
)

// keptFor is how long a reply counts that no other one about the same follows: the guest is gone. A guest that is managed is read again every few minutes.
const keptFor = time.Hour

// held counts the bytes of the newest replies about guests, by guest and call: a guest that has moved is the same one. The zero value has counted nothing.
type held struct {
	mu    sync.Mutex
	sizes map[string]counted
	sum   int
}

// counted is a reply that counts.
type counted struct {
	size int
	at   time.Time
}

// aboutGuest returns the part of a path that names the guest and the call, without the node; "" if the path is not about one guest.
func aboutGuest(path string) string {
	for _, kind := range []string{"/qemu/", "/lxc/"} {
		if i := strings.Index(path, kind); i >= 0 {
			return path[i:]
		}
	}
	return ""
}

// take counts a reply, and returns an error if all of them would be too large: the reply before stays counted.
func (h *held) take(about string, size int) error {
	if size <= fewBytes {
		h.drop(about)
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	with := func() int { return h.sum - h.sizes[about].size + size }
	if with() > maxHeld {
		for other, c := range h.sizes {
			if now.Sub(c.at) > keptFor {
				h.forget(other)
			}
		}
	}
	sum := with()
	if sum > maxHeld {
		return fmt.Errorf("replies about guests: %w of %d MiB for all that have more than %d KiB", bounds.ErrExceeded, maxHeld>>20, fewBytes>>10)
	}
	if h.sizes == nil {
		h.sizes = make(map[string]counted)
	}
	h.sizes[about], h.sum = counted{size, now}, sum
	return nil
}

// drop forgets a reply that nothing keeps.
func (h *held) drop(about string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(about)
}

func (h *held) forget(about string) {
	h.sum -= h.sizes[about].size
	delete(h.sizes, about)
}
