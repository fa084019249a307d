package observe

import (
	"time"
)

// VMListStatus says what Proxmox's own list of guests is worth.
type VMListStatus struct {
	Path   string    `json:"path"`
	ReadAt time.Time `json:"readAt,omitzero"` // when it could last be read
	Spared int       `json:"spared"`          // guests that it vouches for, and that the sweep therefore leaves alone
	Error  string    `json:"error,omitempty"` // why it is not believed; every guest is read in turn then
}
