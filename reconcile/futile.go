package reconcile

import (
	"errors"
	"sync"
)

// errFutile says that a restart is not repeated, since the last one brought nothing into effect. Proxmox keeps a change waiting that it
// cannot carry out, and starts the guest without it.
var errFutile = errors.New("the last restart left waiting what it was to bring into effect; the guest is not restarted again for it " +
	"under this revision, the log of its start tells why")

// futileRestart is a restart that was carried out in vain.
type futileRestart struct{ revision, digest string }

// futileRestarts are the newest of them by vmid. They are forgotten when the agent ends, which costs a guest one restart more. The zero
// value has none, and it is safe for concurrent use.
type futileRestarts struct {
	mu   sync.Mutex
	last map[int]futileRestart
}

func (f *futileRestarts) is(vmid int, restart futileRestart) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, known := f.last[vmid]
	return known && last == restart
}

func (f *futileRestarts) add(vmid int, restart futileRestart) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil {
		f.last = make(map[int]futileRestart)
	}
	f.last[vmid] = restart
}
