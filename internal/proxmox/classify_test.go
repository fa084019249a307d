package proxmox

import (
	"errors"
	"strings"
	"testing"

	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"

	"github.com/google/go-cmp/cmp"
)

// sentinels are the errors of a cluster.Cluster; a reply means at most one of them.
var sentinels = []error{
	cluster.ErrNotExist, cluster.ErrDenied, cluster.ErrConflict, cluster.ErrLocked,
	cluster.ErrNotReady, cluster.ErrOutcomeUnknown, cluster.ErrNoTask, cluster.ErrInvalid,
}

func meanings(err error) (found []string) {
	for _, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			found = append(found, sentinel.Error())
		}
	}
	return found
}

func TestRepliesHaveAMeaning(t *testing.T) {
	unknown, notReady, denied := cluster.ErrOutcomeUnknown, cluster.ErrNotReady, cluster.ErrDenied
	invalid := cluster.ErrInvalid
	const parameters = `{"errors":{"memory":"type check ('integer') failed - got 'lots'"},"message":"Parameter verification failed.\n","data":null}`
	tests := map[string]struct {
		reply       stubReply
		read, write error // nil: a *wire.APIError that means none of them
	}{
		"no_ticket":        {respond(401, "No ticket", ""), denied, denied},
		"wrong_token":      {respond(401, "Authentication failed!", ""), denied, denied},
		"no_privilege":     {respond(403, "Permission check failed (/vms/100, VM.Config.Disk)", `{"message":"Permission check failed (/vms/100, VM.Config.Disk)\n","data":null}`), denied, denied},
		"digest_vm":        {refused("checksum mismatch (file change by other user?)"), cluster.ErrConflict, cluster.ErrConflict},
		"digest_ct":        {refused("detected modified configuration - file changed by other user? Try again."), cluster.ErrConflict, cluster.ErrConflict},
		"locked_vm":        {refused("VM is locked (backup)"), cluster.ErrLocked, cluster.ErrLocked},
		"locked_ct":        {refused("CT is locked (snapshot)"), cluster.ErrLocked, cluster.ErrLocked},
		"flock":            {refused("can't lock file '/var/lock/qemu-server/lock-151.conf' - got timeout"), cluster.ErrLocked, cluster.ErrLocked},
		"flock_old_body":   {respond(500, "can't lock file '/var/lock/pve-manager/pve-storage-local' - got timeout", ""), cluster.ErrLocked, cluster.ErrLocked},
		"gone":             {refused("Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist"), cluster.ErrNotExist, cluster.ErrNotExist},
		"another_gone":     {refused("Configuration file 'nodes/pve1/qemu-server/581.conf' does not exist"), nil, nil},
		"another_node":     {refused("Configuration file 'nodes/pve2/qemu-server/100.conf' does not exist"), nil, nil},
		"another_kind":     {refused("Configuration file 'nodes/pve1/lxc/100.conf' does not exist"), nil, nil},
		"longer_vmid":      {refused("Configuration file 'nodes/pve1/qemu-server/1000.conf' does not exist"), nil, nil},
		"no_quorum":        {refused("cluster not ready - no quorum?"), notReady, notReady},
		"read_only_etc":    {refused("unable to open file '/etc/pve/nodes/pve1/qemu-server/100.conf.tmp.1' - Permission denied"), notReady, notReady},
		"unknown_node":     {refused("hostname lookup 'pve9' failed - failed to get address info for: pve9: Name or service not known"), notReady, notReady},
		"no_worker":        {refused("got no worker upid - start worker failed"), notReady, unknown},
		"protection":       {refused("can't remove VM 100 - protection mode enabled"), nil, nil},
		"exists":           {refused("unable to create VM 100 - VM 100 already exists on node 'pve1'"), cluster.ErrConflict, cluster.ErrConflict},
		"exists_ct":        {refused("CT 100 already exists on node 'pve1'"), cluster.ErrConflict, cluster.ErrConflict},
		"exists_clone":     {refused("unable to create VM 100: config file already exists"), cluster.ErrConflict, cluster.ErrConflict},
		"root_only":        {refused("only root can set 'args' config"), denied, denied},
		"running_vm":       {refused("VM 100 is running - destroy failed"), cluster.ErrConflict, cluster.ErrConflict},
		"running_ct":       {refused("CT 100 already running"), cluster.ErrConflict, cluster.ErrConflict},
		"agent_not_up":     {refused("QEMU guest agent is not running"), nil, nil},
		"pool_member":      {refused("update pools failed: VM 100 is already a pool member"), cluster.ErrConflict, cluster.ErrConflict},
		"no_pool":          {refused("update pools failed: pool 'web' does not exist"), nil, invalid},
		"cluster_lock":     {refused("update pools failed: cfs-lock 'file-user_cfg' error: got lock request timeout"), cluster.ErrLocked, cluster.ErrLocked},
		"cluster_quorum":   {refused("update pools failed: cfs-lock 'file-user_cfg' error: no quorum!"), notReady, notReady},
		"moved":            {respond(400, "Parameter verification failed.", `{"errors":{"target":"target is local node."}}`), nil, cluster.ErrConflict},
		"parameters":       {respond(400, "Parameter verification failed.", parameters), nil, invalid},
		"half_applied":     {respond(400, "Parameter verification failed.", `{"errors":{"net0":"hotplug problem - device in use"},"message":"Parameter verification failed.\n"}`), nil, unknown},
		"half_pending":     {respond(400, "Parameter verification failed.", `{"errors":{"mp0":"unable to apply pending change mp0: no space"}}`), nil, unknown},
		"not_found":        {respond(404, "Not Found", "<html>"), nil, nil},
		"too_many":         {respond(429, "Too Many Requests", ""), notReady, notReady},
		"no_method":        {respond(501, "Method 'GET /nosuch' not implemented", `{"message":"Method 'GET /nosuch' not implemented","data":null}`), nil, nil},
		"content_type":     {respond(506, "upload 'Content-Type 'text/plain' not implemented", ""), nil, nil},
		"bad_gateway":      {respond(502, "Bad Gateway", "<html>"), notReady, unknown},
		"unavailable":      {respond(503, "Service Unavailable", ""), notReady, unknown},
		"gateway_timeout":  {respond(504, "Gateway Time-out", ""), notReady, unknown},
		"refused_595":      {respond(595, "Connection refused", ""), notReady, notReady},
		"timeout_596":      {respond(596, "Connection timed out", ""), notReady, unknown},
		"body_597":         {respond(597, "Broken pipe", ""), notReady, unknown},
		"other_599":        {respond(599, "", ""), notReady, unknown},
		"other_success":    {respond(202, "Accepted", `{"data":null}`), notReady, unknown},
		"redirect":         {respond(302, "Found", ""), nil, nil},
		"plain_text_error": {respond(500, "'\"' expected, at character offset 1", "'\"' expected, at character offset 1 at AnyEvent.pm line 934.\n"), nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client := inProcess(t, always(test.reply.status, test.reply.reason, test.reply.body))
			_, readErr := client.Observe(t.Context(), vmRow)
			checkMeaning(t, "read", readErr, test.read, test.reply)
			_, writeErr := client.Do(t.Context(), cluster.Call{
				Op: cluster.OpConfig, Kind: guest.VirtualMachine, Node: "pve1", VMID: 100, Params: map[string]string{"memory": "512"},
			}, nil)
			checkMeaning(t, "write", writeErr, test.write, test.reply)
		})
	}
}

// Only the config call of a container may have stored its change before a refusal with status 500, unless the text excludes that.
func TestRefusalsAfterAWrite(t *testing.T) {
	tests := map[string]struct {
		kind guest.Kind
		op   cluster.Op
		text string
		late bool
	}{
		"container":           {guest.Container, cluster.OpConfig, "Device /dev/null does not exist", true},
		"container_invalid":   {guest.Container, cluster.OpConfig, "volume 'local:100/vm-100-disk-9.raw' does not exist", true},
		"container_protected": {guest.Container, cluster.OpConfig, "can't remove CT 100 drive 'mp0' - protection mode enabled", true},
		"container_locked":    {guest.Container, cluster.OpConfig, "CT is locked (backup)", false},
		"container_digest":    {guest.Container, cluster.OpConfig, "detected modified configuration - file changed by other user? Try again.", false},
		"container_start":     {guest.Container, cluster.OpStart, "Device /dev/null does not exist", false},
		"machine":             {guest.VirtualMachine, cluster.OpConfig, "Device /dev/null does not exist", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := refused(test.text)
			client := inProcess(t, always(r.status, r.reason, r.body))
			call := cluster.Call{Op: test.op, Kind: test.kind, Node: "pve1", VMID: 100}
			if test.op == cluster.OpConfig {
				call.Params = map[string]string{"memory": "512"}
			}
			_, err := client.Do(t.Context(), call, nil)
			if errors.Is(err, cluster.ErrRefusedLate) != test.late || errors.Is(err, cluster.ErrOutcomeUnknown) != test.late || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want a refusal that may follow a write: %t", err, test.late)
			}
		})
	}
}

// A call may take effect later only if the code that carries it out has not answered. It does not if that code answered, and not if the proxy could
// not connect to it.
func TestCallsThatMayTakeEffectLater(t *testing.T) {
	tests := map[string]struct {
		reply stubReply
		late  bool
	}{
		"no_worker":       {refused("got no worker upid - start worker failed"), false},
		"half_applied":    {respond(400, "Parameter verification failed.", `{"errors":{"net0":"hotplug problem - device in use"}}`), false},
		"names_no_task":   {ok(`"nonsense"`), false},
		"timeout_596":     {respond(596, "Connection timed out", ""), true},
		"body_597":        {respond(597, "Broken pipe", ""), true},
		"other_599":       {respond(599, "", ""), true},
		"gateway_timeout": {respond(504, "Gateway Time-out", ""), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := inProcess(t, always(test.reply.status, test.reply.reason, test.reply.body)).Do(t.Context(), startCall, nil)
			if !errors.Is(err, cluster.ErrOutcomeUnknown) || errors.Is(err, cluster.ErrUnanswered) != test.late {
				t.Errorf("got error %v, want one whose call may take effect later: %t", err, test.late)
			}
		})
	}
}

// TestUnconnectedCallsWereNotSent: of the statuses of a proxy, 595 alone says that the call did not reach its node.
func TestUnconnectedCallsWereNotSent(t *testing.T) {
	t.Parallel()
	for status, notSent := range map[int]bool{502: false, 504: false, 595: true, 596: false, 597: false, 598: false, 599: false} {
		_, err := inProcess(t, always(status, "No route to host", "")).Do(t.Context(), startCall, nil)
		if errors.Is(err, cluster.ErrNotSent) != notSent || errors.Is(err, cluster.ErrOutcomeUnknown) == notSent || errors.Is(err, cluster.ErrNotReady) != notSent {
			t.Errorf("status %d: got %v, want an error that says that the call was not sent: %t", status, err, notSent)
		}
	}
}

// checkMeaning checks that err means want and nothing else, and that it contains the status and the text of the reply.
func checkMeaning(t *testing.T, what string, err, want error, sent stubReply) {
	t.Helper()
	var wanted []string
	if want != nil {
		wanted = []string{want.Error()}
	}
	if diff := cmp.Diff(wanted, meanings(err)); diff != "" {
		t.Errorf("%s: got error %v: meaning (-want +got)\n%s", what, err, diff)
	}
	var api *wire.APIError
	if !errors.As(err, &api) {
		t.Fatalf("%s: got error %v (%T), want an *APIError within", what, err, err)
	}
	if api.Status != sent.status || api.Reason != sent.reason {
		t.Errorf("%s: got status %d %q, want %d %q", what, api.Status, api.Reason, sent.status, sent.reason)
	}
}

// The missing configuration of a template does not mean that the new guest does not exist.
func TestCreateNeverMeansNotExist(t *testing.T) {
	client := inProcess(t, &recorder{next: func(seen) stubReply {
		return refused("Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist")
	}})
	for _, template := range []int{0, 9000} {
		_, err := client.Do(t.Context(), cluster.Call{Op: cluster.OpCreate, Kind: guest.VirtualMachine, Node: "pve1", VMID: 100, CloneOf: template}, nil)
		if errors.Is(err, cluster.ErrNotExist) {
			t.Errorf("template %d: got %v, want an error other than ErrNotExist", template, err)
		}
	}
}
