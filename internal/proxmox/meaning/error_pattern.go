package meaning

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gitops-agent/reconcile/guest"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/reconcile/cluster"
)

// noWorker is Proxmox's text for a worker whose start it could not confirm. The worker may run nevertheless, and may leave a partly
// created guest.
//
// Source: recorded from PVE 9.2, create under load; PVE::RESTEnvironment fork_worker.
const noWorker = "got no worker upid"

// errorPattern recognises one error in a text of Proxmox, of a reply or of a task's exit status.
type errorPattern struct {
	text     string
	also     string // a second part of the text, if the first part alone is ambiguous
	means    error  // of the errors of a Cluster
	rootOnly bool   // with ErrDenied: only root@pam may do it
}

// matches reports whether text contains the pattern.
func (p errorPattern) matches(text string) bool {
	return strings.Contains(text, p.text) && strings.Contains(text, p.also)
}

// errorPatterns are tried in this order. The quorum comes before the locks of the cluster: without a quorum such a lock cannot be taken.
//
// Source: PVE::AbstractConfig check_lock, PVE::Tools lock_file and assert_if_modified, PVE::Cluster cfs_lock and check_cfs_quorum,
// PVE::QemuServer, PVE::LXC, PVE::RPCEnvironment, pve-ha-manager API2.
var errorPatterns = []errorPattern{
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
	{text: "only root can ", means: cluster.ErrDenied, rootOnly: true},
	{text: "Only root can ", means: cluster.ErrDenied, rootOnly: true},
	{text: "is only allowed for root@pam", means: cluster.ErrDenied, rootOnly: true},
	// The guest is not any more in the state that the call was made for.
	{text: "is running - destroy failed", means: cluster.ErrConflict},
	{text: "unable to destroy CT ", also: "container is running", means: cluster.ErrConflict},
	{text: " already exists on node '", means: cluster.ErrConflict},
	{text: "unable to create ", also: "config file already exists", means: cluster.ErrConflict},
	{text: "disk is already at specified size", means: cluster.ErrSameSize},
	{text: "you can't convert a template to a template", means: cluster.ErrConflict},
	{text: "is already a pool member", means: cluster.ErrIsMember},
	{text: "create resource failed: resource ID '", also: "already defined", means: cluster.ErrConflict},
	{text: "not HA managed!", means: cluster.ErrConflict},
	{text: "no such resource '", means: cluster.ErrConflict},
}

// runStatePattern matches Proxmox's texts about a guest that already has the wanted run state, or lacks the run state that a call requires.
var runStatePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(VM|CT) [0-9]+ (already|not) running`) })

// permissionPattern matches Proxmox's text about a missing privilege. Privileges are separated by "|" if any of them would do. A tag follows if only
// that tag needs the privilege.
var permissionPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`Permission check failed \((/[^,\s]*), ([A-Za-z.|]+)(?: for modifying tag '([^']*)')?\)`)
})

// deniedError returns the facts of a text that means ErrDenied. A text without details, such as that of a wrong token, has none.
func deniedError(text string) *cluster.DeniedError {
	if found := permissionPattern().FindStringSubmatch(text); found != nil {
		return &cluster.DeniedError{Path: found[1], AnyOf: strings.Split(found[2], "|"), Tag: found[3]}
	}
	rootOnly := slices.ContainsFunc(errorPatterns, func(p errorPattern) bool { return p.rootOnly && p.matches(text) })
	return &cluster.DeniedError{RootOnly: rootOnly}
}

// textMeaning returns the error of a Cluster that a text about a guest means, nil if it means none.
func textMeaning(about route.Address, text string) error {
	if isMissing(about, text) {
		return cluster.ErrNotExist
	}
	if runStatePattern().MatchString(text) {
		return cluster.ErrConflict
	}
	for _, pattern := range errorPatterns {
		if pattern.matches(text) {
			return pattern.means
		}
	}
	return nil
}

// writeMeaning is textMeaning for the text of a failed write. It also returns cluster.ErrInvalid, if repeating the write cannot help. A missing
// configuration is not such an error, because guests and templates move between nodes.
//
// Source: PVE::Storage, PVE::AccessControl, PVE::AbstractConfig; vdisk_free for base volumes.
func writeMeaning(about route.Address, text string) error {
	meaning := textMeaning(about, text)
	missing := strings.Contains(text, "' does not exist") && !strings.Contains(text, "Configuration file '")
	if meaning == nil && (missing || strings.Contains(text, "is still in use by linked clone")) {
		return cluster.ErrInvalid
	}
	return meaning
}

// isMissing reports whether a text of Proxmox states that the node has no such guest. A text about another guest does not: a list of
// guests can fail because another guest is destroyed at the same time.
//
// Source: recorded from PVE 9.2.
func isMissing(a route.Address, text string) bool {
	folder := "qemu-server"
	if a.Kind == guest.Container {
		folder = "lxc"
	}
	return strings.Contains(text, fmt.Sprintf("Configuration file 'nodes/%s/%s/%d.conf' does not exist", a.Node, folder, a.VMID)) ||
		strings.Contains(text, fmt.Sprintf("unable to find configuration file for VM %d on node '%s'", a.VMID, a.Node))
}
