package wire

import (
	"fmt"
	"strings"
	"sync"

	"gitops-agent/internal/bounds"
)

// Bounds of the replies about single guests. The agent keeps the newest reply about each guest that it manages, so their sum is bounded too. The configuration of a
// guest has some kilobytes, and tens of kilobytes with long notes.
const (
	maxGuestReply = 1 << 20  // bytes
	fewBytes      = 16 << 10 // of a reply that does not count
	maxHeld       = 32 << 20 // of all others
)

// held counts the bytes of the newest replies about guests, by path. The zero value has counted nothing.
type held struct {
	mu    sync.Mutex
	sizes map[string]int
	sum   int
}

// isAboutGuest reports whether a path of the API is about one guest.
func isAboutGuest(path string) bool {
	return strings.Contains(path, "/qemu/") || strings.Contains(path, "/lxc/")
}

// take counts a reply, and returns an error if all of them would be too large: the reply before stays counted.
func (h *held) take(path string, size int) error {
	if size <= fewBytes {
		h.drop(path)
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	sum := h.sum - h.sizes[path] + size
	if sum > maxHeld {
		return fmt.Errorf("replies about guests: %w of %d MiB for all that have more than %d KiB", bounds.ErrExceeded, maxHeld>>20, fewBytes>>10)
	}
	if h.sizes == nil {
		h.sizes = make(map[string]int)
	}
	h.sizes[path], h.sum = size, sum
	return nil
}

// drop forgets a reply that nothing keeps.
func (h *held) drop(path string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sum -= h.sizes[path]
	delete(h.sizes, path)
}
