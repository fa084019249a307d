package observe

import (
	"time"
)

// VMListStatus is the state of the vmlist file, as reports print it.
type VMListStatus struct {
	Path    string    `json:"path"`
	ReadAt  time.Time `json:"readAt,omitzero"` // when it was last read successfully
	Skipped int       `json:"skipped"`         // guests that the sweep skips, since the file shows no change
	Error   string    `json:"error,omitempty"` // why the file is not used; the sweep includes every guest then
}
