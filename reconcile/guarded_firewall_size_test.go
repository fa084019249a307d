package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"gitops-agent/reconcile/journal"
)

// guardedAddresses returns a class with a guarded firewall of almost 32 KiB in the journal: as many addresses as fit. Its first address begins with the given number.
func guardedAddresses(class string, first int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: %s}\nspec:\n  virtualMachine:\n    mode: observe\n    firewall:\n      guarded: true\n"+
		"      enable: true\n      rules: [{type: in, action: ACCEPT, source: +admins}]\n      ipSets:\n        admins:\n          entries:\n", class)
	for i := range 250 {
		fmt.Fprintf(&b, "            - {cidr: 10.%d.0.%d, comment: desk %d%s}\n", first, i, i, strings.Repeat(" of the office", 6))
	}
	return b.String()
}

// TestManyGuardedFirewalls accepts four hundred guests of a class whose guarded firewall is almost as large as one may be, narrows it, and reads the journal again.
func TestManyGuardedFirewalls(t *testing.T) {
	const guests = 400
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["cluster.yaml"] = strings.Replace(clusterYAML, "to: 299", "to: 1999", 1)
		class := guardedAddresses("walled", 1)
		l.files["class.yaml"] = class
		for i := range guests {
			l.files[fmt.Sprintf("guests/vm-%d.yaml", i)] = vmYAML(fmt.Sprintf("vm-%d", i), 300+i, "class: walled")
		}
		tip := l.push("many guarded firewalls", alice)
		accepted := func() map[int]journal.Guarded {
			t.Helper()
			r := l.once()
			if r.Source.Accepted == nil || r.Source.Accepted.Commit != tip {
				t.Fatalf("got %+v in force, the refusal %+v and the error %q, want %s", r.Source.Accepted, r.Source.Refused, r.Source.Error, tip)
			}
			l.open()
			defer l.close()
			return l.journal.State().Guarded
		}
		for i := range 2 {
			guarded := accepted()
			text := guarded[300].Rules.Firewall
			if len(text) < 30<<10 || strings.Contains(text, "desk 249") != (i == 0) {
				t.Fatalf("got a guarded firewall of %d bytes, want almost 32 KiB of the newest revision", len(text))
			}
			for vmid := 300; vmid < 300+guests; vmid++ {
				if guarded[vmid].Rules.Firewall != text {
					t.Fatalf("got another guarded firewall of %d than of 300", vmid)
				}
			}
			l.files["class.yaml"] = class[:strings.LastIndex(class, "            - ")]
			tip = l.push("one address less", alice)
		}
	})
}
