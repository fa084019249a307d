package proxmox

import (
	"regexp"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// noWorker is what Proxmox says when it lost sight of a worker that it was forking. The worker may run all the same, and half-made
// guests were seen.
const noWorker = "got no worker upid"

// sign is a part of Proxmox's text that tells what went wrong, in a reply as in the end of a task.
type sign struct {
	text  string
	also  string // a second part, where the first one alone says too little
	means error
}

// signs are looked through in this order: a lock of the cluster's own that cannot be had may be for want of a quorum.
//
// Source: PVE::AbstractConfig check_lock, PVE::Tools lock_file and assert_if_modified, PVE::Cluster cfs_lock and check_cfs_quorum,
// PVE::QemuServer, PVE::LXC, PVE::RPCEnvironment, pve-ha-manager API2.
var signs = []sign{
	{text: "checksum mismatch (file change by other user?)", means: cluster.ErrConflict},
	{text: "detected modified configuration - file changed by other user", means: cluster.ErrConflict},
	{text: "VM is locked (", means: cluster.ErrLocked},
	{text: "CT is locked (", means: cluster.ErrLocked},
	{text: "no quorum", means: cluster.ErrNotReady},
	{text: "can't lock file '", also: "got timeout", means: cluster.ErrLocked},
	{text: "cfs-lock", also: "got lock request timeout", means: cluster.ErrLocked},
	{text: "unable to open file '/etc/pve/", also: "Permission denied", means: cluster.ErrNotReady}, // read-only while there is no quorum
	{text: "hostname lookup '", means: cluster.ErrNotReady},                                         // the node is not reachable by name
	{text: "Permission check failed", means: cluster.ErrDenied},
	{text: "only root can ", means: cluster.ErrDenied},
	{text: "Only root can ", means: cluster.ErrDenied},
	{text: "is only allowed for root@pam", means: cluster.ErrDenied},
	// The guest is not any more what the call was made for.
	{text: "is running - destroy failed", means: cluster.ErrConflict},
	{text: "unable to destroy CT ", also: "container is running", means: cluster.ErrConflict},
	{text: "disk is already at specified size", means: cluster.ErrSameSize},
	{text: "you can't convert a template to a template", means: cluster.ErrConflict},
	{text: "is already a pool member", means: cluster.ErrIsMember},
	{text: "create resource failed: resource ID '", also: "already defined", means: cluster.ErrConflict},
	{text: "not HA managed!", means: cluster.ErrConflict},
	{text: "no such resource '", means: cluster.ErrConflict},
}

// runState is what Proxmox says of a guest that already is as it was to be, or is not what it must be for that.
var runState = regexp.MustCompile(`\b(VM|CT) [0-9]+ (already|not) running`)

// textMeaning returns the sentinel that a text stands for, nil where it speaks for itself.
func textMeaning(about address, said string) error {
	if about.isMissing(said) {
		return cluster.ErrNotExist
	}
	if runState.MatchString(said) {
		return cluster.ErrConflict
	}
	for _, s := range signs {
		if strings.Contains(said, s.text) && strings.Contains(said, s.also) {
			return s.means
		}
	}
	return nil
}

// exitMeaning returns the sentinel that the end of a failed task stands for. A worker that died, or was stopped, says nothing
// about what it had done by then.
//
// Source: pve-common, PVE/UPID.pm and PVE/Tools.pm upid_read_status.
func exitMeaning(task upid, exit string) error {
	switch {
	case exit == "unexpected status", exit == "received interrupt", strings.HasPrefix(exit, "unable to get last line from task log"):
		return cluster.ErrOutcomeUnknown
	default:
		return writeMeaning(task.about(), exit)
	}
}

// writeMeaning is textMeaning for what a call that was to change something came to: it may be one that no repetition mends. That a
// configuration is missing is not, since guests and templates move.
//
// Source: PVE::Storage, PVE::AccessControl, PVE::AbstractConfig; vdisk_free for base volumes.
func writeMeaning(about address, said string) error {
	meaning := textMeaning(about, said)
	missing := strings.Contains(said, "' does not exist") && !strings.Contains(said, "Configuration file '")
	if meaning == nil && (missing || strings.Contains(said, "is still in use by linked clone")) {
		return cluster.ErrInvalid
	}
	return meaning
}

// about returns the guest whose absence would be the task's failure. What a create or a clone misses is not the guest that it is
// to make, and a clone is filed under its template.
func (u upid) about() address {
	switch u.kind {
	case "qmconfig", "qmstart", "qmstop", "qmshutdown", "qmreboot", "qmdestroy", "qmigrate", "qmtemplate", "qmmove":
		return address{kind: guest.VirtualMachine, node: u.node, vmid: u.vmid()}
	case "vzstart", "vzstop", "vzshutdown", "vzreboot", "vzdestroy", "vzmigrate", "vztemplate", "move_volume":
		return address{kind: guest.Container, node: u.node, vmid: u.vmid()}
	default:
		return address{}
	}
}
