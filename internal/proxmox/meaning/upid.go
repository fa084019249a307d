package meaning

import (
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// UPID is the content of a UPID, the name of a task.
type UPID struct {
	Node  string
	Kind  string // qmcreate, vzstart, …
	ID    string // the object of the task: usually a vmid, "101@local" for an image, empty for a node
	User  string // "root@pam!agent" for a token
	Start time.Time
}

// upidForm follows PVE::UPID. The fields are node, pid, pid's start time, start time, type, id and user.
var upidForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^UPID:([A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?):[0-9A-Fa-f]{8}:[0-9A-Fa-f]{8,9}:([0-9A-Fa-f]{8}):([^:\s]+):([^:\s]*):([^:\s]+):$`)
})

// ParseUPID reads "UPID:pve1:000000D3:0003A844:6B00C1F6:qmcreate:101:gitops@pve!agent:".
//
// Source: pve-common, PVE/UPID.pm.
func ParseUPID(text string) (UPID, error) {
	fields := upidForm().FindStringSubmatch(text)
	if fields == nil {
		return UPID{}, fmt.Errorf("%.200q is not a UPID", text)
	}
	seconds, err := strconv.ParseInt(fields[2], 16, 64)
	if err != nil {
		return UPID{}, fmt.Errorf("start of %q: %w", text, err)
	}
	return UPID{Node: fields[1], Start: time.Unix(seconds, 0), Kind: fields[3], ID: fields[4], User: fields[5]}, nil
}

// vmid returns the vmid of the guest that the task works on, 0 if the task does not work on a guest.
func (u UPID) vmid() int {
	vmid, err := strconv.Atoi(u.ID)
	if err != nil {
		return 0
	}
	return vmid
}
