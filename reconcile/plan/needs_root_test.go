package plan

import (
	"testing"

	"gitops-agent/reconcile/guest"
)

// TestNeedsRoot: the hint is one command that a shell takes as it is.
func TestNeedsRoot(t *testing.T) {
	vm, ct := guest.Ref{Kind: guest.VirtualMachine, VMID: 201}, guest.Ref{Kind: guest.Container, VMID: 210}
	root := func(key, value string) guest.Change { return guest.Change{Key: key, RootOnly: true, RootValue: value} }
	tests := map[string]struct {
		ref     guest.Ref
		node    string
		changes []guest.Change
		want    string // "" is no condition
	}{
		"nothing":    {vm, "pve1", []guest.Change{{Key: "memory"}}, ""},
		"machine":    {vm, "pve1", []guest.Change{{Key: "memory"}, root("args", "-no-hpet")}, "as root on pve1: qm set 201 --args -no-hpet"},
		"container":  {ct, "pve2", []guest.Change{root("mp0", "/srv,mp=/data")}, "as root on pve2: pct set 210 --mp0 /srv,mp=/data"},
		"several":    {ct, "pve1", []guest.Change{root("dev0", "/dev/net/tun"), root("mp0", "")}, "as root on pve1: pct set 210 --dev0 /dev/net/tun --delete mp0"},
		"words":      {vm, "pve1", []guest.Change{root("args", "-cpu host")}, "as root on pve1: qm set 201 --args '-cpu host'"},
		"quotes":     {vm, "pve1", []guest.Change{root("args", "a'; rm -rf /")}, `as root on pve1: qm set 201 --args 'a'\''; rm -rf /'`},
		"no_vmid":    {guest.Ref{Kind: guest.VirtualMachine}, "", []guest.Change{root("args", "-x")}, "as root on its node: qm set VMID --args -x"},
		"semicolons": {vm, "pve1", []guest.Change{root("affinity", "0;1")}, "as root on pve1: qm set 201 --affinity '0;1'"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, needed := needsRoot(test.changes, test.ref, test.node)
			if needed != (test.want != "") || c.Hint != test.want {
				t.Errorf("got %t and %q, want %q", needed, c.Hint, test.want)
			}
		})
	}
}
