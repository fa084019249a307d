package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// HAMaster is what the HA manager says of itself. Its master works in rounds of ten seconds; in each round it reads the requests, and at the end it
// writes the time.
type HAMaster struct {
	Node    string    // "" if there was none yet
	RoundAt time.Time // when the last round ended, by the clock of Node, in whole seconds; it stands still without an active master
}

// masterDead is how long after its last round a master counts as dead. It is Proxmox's own bound for "old timestamp - dead?".
const masterDead = 30 * time.Second

// Stands returns why the HA manager does not act, "" if it does, or may. Its last round was first seen at seenAt, by the clock of the caller; the zero time if none was.
func (m HAMaster) Stands(seenAt, now time.Time) string {
	switch {
	case m.Node == "":
		return "the HA manager has no active master"
	case !seenAt.IsZero() && HAMasterIsDead(seenAt, now):
		return fmt.Sprintf("the HA manager has no active master: %s ended its last round at %s; a new master takes up to three minutes", m.Node, m.RoundAt.Format(time.TimeOnly+" UTC"))
	}
	return ""
}

// HAMasterIsDead reports whether a master of which no new round was seen since a time counts as dead.
func HAMasterIsDead(seenAt, now time.Time) bool { return now.Sub(seenAt) > masterDead }

// HARequest reports whether a task only hands a request to the HA manager. It ends before anything happens.
func HARequest(upid string) bool { return strings.HasPrefix(TaskType(upid), "ha") }

// HAFailed reports whether the HA manager has given the guest of a row up: until a person disables its entry, it starts and moves it no more.
func (r Row) HAFailed() bool { return r.HAState == "error" }

// HAWorks reports whether the HA manager is at work on the guest of a row, other than by a move: its node is fenced, shut down or in maintenance, or it begins or ends the guest.
func (r Row) HAWorks() bool {
	return slices.Contains([]string{"fence", "recovery", "freeze", "request_start", "request_stop"}, r.HAState)
}

// HAMoves reports whether the HA manager moves the guest of a row: it says so, or the guest has the lock of a migration.
func (r Row) HAMoves() bool { return r.HASaysItMoves() || r.Lock == "migrate" }

// HASaysItMoves reports whether the guest of a row has the state of a move. Without it, a lock may be all that is left of one.
func (r Row) HASaysItMoves() bool {
	return slices.Contains([]string{"migrate", "relocate", "request_start_balance"}, r.HAState)
}
