package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
)

// TestPlanOfAClone: the plan of a clone names what the clone can never have, from a reading of the guest that is cloned.
func TestPlanOfAClone(t *testing.T) {
	t.Parallel()
	const hook = "local:snippets/h.sh"
	cloudInit := guest.Intent{Key: "ide2", Verb: guest.Want, Sub: map[string]string{"storage": "local", "volume": "cloudinit", "media": "cdrom"}}
	root := guest.Intent{Key: "hookscript", Verb: guest.Want, Text: hook}
	read := func(pairs ...string) map[int]guest.Observed {
		live := fixture.LiveWeb(guest.StatusStopped, pairs...)
		live.Name, live.VMID, live.Node, live.Template = "tmpl-debian-12", 9000, "pve2", true
		return map[int]guest.Observed{9000: live}
	}
	backup, snapshot := fixture.WantWeb(root), fixture.WantWeb(root, cloudInit)
	backup.Source = guest.Source{Backup: &guest.Backup{Volume: "pbs:backup/vm/201/2026-01-01T00:00:00Z", Storage: "local"}}
	snapshot.Source = guest.Source{Clone: &guest.Clone{VMID: 9000, Full: true, Snap: "old"}}
	tests := map[string]struct {
		want       guest.Desired
		guests     map[int]guest.Observed
		conditions []string // type, reason, and a part of message and hint
		steps      int
	}{
		"elsewhere":           {fixture.WantWeb(cloudInit), read("ide0", "local:9000/vm-9000-cloudinit.qcow2,media=cdrom"), []string{"Blocked impossible set cloudInit.slot: ide0"}, 0},
		"in_the_same_slot":    {fixture.WantWeb(cloudInit), read("ide2", "local:9000/vm-9000-cloudinit.qcow2,media=cdrom"), nil, 1},
		"root":                {fixture.WantWeb(root), read(), []string{"Warned needs-root as root on pve1: qm set 201 --hookscript " + hook}, 1},
		"root_in_template":    {fixture.WantWeb(root), read("hookscript", hook), nil, 1},
		"root_in_no_template": {fixture.WantWeb(root), nil, []string{"Warned needs-root as root on pve1: qm set 201 --hookscript " + hook}, 1},
		"root_in_snapshot":    {snapshot, read("hookscript", hook, "ide0", "local:9000/vm-9000-cloudinit.qcow2,media=cdrom"), []string{"Warned needs-root as root on pve1: qm set 201 --hookscript " + hook}, 1},
		"root_in_backup":      {backup, nil, []string{"Warned needs-root not needed where the backup contains it"}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := New(Desired{Cluster: "home", Guests: []guest.Desired{test.want}}, cluster.Snapshot{
				Guests: test.guests, Absent: map[int]cluster.Absence{201: cluster.Gone}, Inventory: cluster.Inventory{Rows: []cluster.Row{template()}},
			}).Guests[0]
			if len(got.Steps) != test.steps || len(got.Conditions) != len(test.conditions) {
				t.Fatalf("got %d steps and %+v, want %d and %q", len(got.Steps), got.Conditions, test.steps, test.conditions)
			}
			for i, want := range test.conditions {
				c := got.Conditions[i]
				head, part := string(c.Type)+" "+string(c.Reason)+" ", c.Message+" "+c.Hint
				if rest, ok := strings.CutPrefix(want, head); !ok || !strings.Contains(part, rest) {
					t.Errorf("got %s%s, want %s", head, part, want)
				}
			}
			for _, s := range got.Steps {
				if slices.ContainsFunc(s.Changes, func(c guest.Change) bool { return c.RootOnly }) {
					t.Errorf("got a step with %+v, want none that only root@pam may make", s.Changes)
				}
			}
		})
	}
}

// TestTemplates: the guests that are cloned are read as long as the clone does not exist.
func TestTemplates(t *testing.T) {
	t.Parallel()
	rows := []cluster.Row{{Kind: guest.VirtualMachine, VMID: 202, Node: "pve1", Name: "web-2"}, template()}
	named := func(vmid int, source guest.Source) guest.Desired {
		return guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web", VMID: vmid}, Source: source}
	}
	clone := guest.Source{Clone: &guest.Clone{Name: "tmpl-debian-12"}}
	tests := map[string]struct {
		guests []guest.Desired
		want   []int
	}{
		"none":        {[]guest.Desired{named(201, guest.Source{Blank: true})}, nil},
		"two_clones":  {[]guest.Desired{named(201, clone), named(0, clone)}, []int{9000}},
		"exists":      {[]guest.Desired{named(202, clone)}, nil},
		"of_snapshot": {[]guest.Desired{named(201, guest.Source{Clone: &guest.Clone{VMID: 9000, Snap: "old"}})}, nil},
		"missing":     {[]guest.Desired{named(201, guest.Source{Clone: &guest.Clone{Name: "other"}})}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, Templates(test.guests, cluster.Inventory{Rows: rows})); diff != "" {
				t.Errorf("templates differ (-want +got):\n%s", diff)
			}
		})
	}
}
