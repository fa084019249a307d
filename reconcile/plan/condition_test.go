package plan

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/guest"
)

// TestLocksNameTheirTask checks the advice for each lock: only what was partly created may be unlocked, and a machine that is suspended to disk is started.
func TestLocksNameTheirTask(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kind guest.Kind
		lock string
		want string
	}{
		"migrate":         {guest.VirtualMachine, "migrate", "(qmigrate)"},
		"migrate_ct":      {guest.Container, "migrate", "(vzmigrate)"},
		"backup":          {guest.Container, "backup", "(vzdump)"},
		"snapshot":        {guest.VirtualMachine, "snapshot", "(qmsnapshot)"},
		"snapshot_delete": {guest.Container, "snapshot-delete", "(vzdelsnapshot)"},
		"rollback":        {guest.VirtualMachine, "rollback", "(qmrollback)"},
		"suspending":      {guest.VirtualMachine, "suspending", "(qmsuspend)"},
		"newer":           {guest.VirtualMachine, "newer", "(newer)"},
		"suspended":       {guest.VirtualMachine, "suspended", "start it in Proxmox"},
		"create":          {guest.VirtualMachine, "create", "qm unlock 201"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := guest.Observed{Ref: guest.Ref{VMID: 201, Kind: test.kind}, Lock: test.lock}
			c := lockCondition(live)
			if !strings.Contains(c.Hint, test.want) || test.lock != "create" && strings.Contains(c.Hint, " unlock 201") {
				t.Errorf("got %q, want %q", c.Hint, test.want)
			}
		})
	}
}
