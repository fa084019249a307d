package pvesim

import (
	"fmt"
	"time"
)

// upid identifies a task: node, process id, process start, start time, type, id and user, in the order of the printed form.
type upid struct {
	node      string
	pid       int
	pstart    int64
	starttime int64 // seconds since 1970
	typ, id   string
	user      string // with the token after an exclamation mark
}

func (u upid) String() string {
	return fmt.Sprintf("UPID:%s:%08X:%08X:%08X:%s:%s:%s:", u.node, u.pid, u.pstart, u.starttime, u.typ, u.id, u.user)
}

var upidText = newPattern(`^UPID:[a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?:[0-9A-F]{8}:[0-9A-F]{8,9}:[0-9A-F]{8}:[^:\s]+:[^:\s]*:[^:\s]+:$`)

// newUPID returns a UPID with a new process id. The state is locked.
func (s *Sim) newUPID(node, typ, id, user string) upid {
	s.nextPID++
	now := time.Now()
	return upid{
		node: node, pid: s.nextPID, pstart: now.Sub(s.bootedAt(node)).Milliseconds() / 10, starttime: now.Unix(),
		typ: typ, id: id, user: user,
	}
}
