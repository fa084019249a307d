package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"gitops-agent/reconcile/manifest"
)

// guardedBy returns a class with a guarded firewall of a number of rules, each of about 200 bytes in the journal, and guests with this class. If they differ, each
// has a set of its own besides.
func guardedBy(guests, rules int, differ bool) []manifest.File {
	var class, vms strings.Builder
	class.WriteString("apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: walled}\nspec:\n  virtualMachine:\n    firewall:\n      guarded: true\n      enable: true\n      rules:\n")
	for i := range rules {
		fmt.Fprintf(&class, "        - {type: in, action: ACCEPT, protocol: tcp, port: \"%d\", comment: %s}\n", 1000+i, strings.Repeat("x", 120))
	}
	for i := range guests {
		fmt.Fprintf(&vms, "---\napiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: web-%d}\nspec:\n  node: pve1\n  vmid: %d\n  class: walled\n", i, 1000+i)
		if differ {
			fmt.Fprintf(&vms, "  firewall: {ipSets: {own: {comment: the set of %d}}}\n", i)
		}
	}
	return []manifest.File{
		{Path: "cluster.yaml", Data: []byte(clusterManifest)}, {Path: "class.yaml", Data: []byte(class.String())}, {Path: "web.yaml", Data: []byte(vms.String())},
	}
}

// TestGuardedFirewallsAreBounded has guarded firewalls that the journal can keep, one that is too large for a guest, and many that are too large together.
func TestGuardedFirewallsAreBounded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		guests, rules int
		differ        bool
		want          string
	}{
		"one":             {1, 155, false, ""},
		"large":           {1, 200, false, "as the journal keeps it, want at most 32768 beside guarded: true"},
		"many":            {129, 155, true, ""},
		"too_many":        {150, 155, true, "got 150 different guarded firewalls, which take"},
		"many_of_a_class": {1000, 155, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := manifest.Parse(guardedBy(test.guests, test.rules, test.differ))
			switch {
			case test.want == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
