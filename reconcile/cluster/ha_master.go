package cluster

import (
	"strings"
	"time"
)

// HAMaster is what the HA manager says of itself. Its master works in rounds of ten seconds; in each round it reads the requests, and at the end it
// writes the time.
type HAMaster struct {
	Node    string    // "" if there was none yet
	RoundAt time.Time // when the last round ended, by the clock of Node, in whole seconds; it stands still without an active master
}

// HARequest reports whether a task only hands a request to the HA manager. It ends before anything happens.
func HARequest(upid string) bool { return strings.HasPrefix(TaskType(upid), "ha") }

// HAMoves reports whether the HA manager moves the guest of a row: it says so, or the guest has the lock of a migration.
func (r Row) HAMoves() bool {
	switch r.HAState {
	case "migrate", "relocate", "request_start_balance":
		return true
	}
	return r.Lock == "migrate"
}
