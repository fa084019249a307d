package plan_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// What a guest or an object needs and the cluster does not have is a fault only if no manifest describes it. If one does, it is waited for, by its name.
func TestWaitsForWhatManifestsDescribe(t *testing.T) {
	t.Parallel()
	vm := func(name string, vmid int) guest.Desired {
		return guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: name, VMID: vmid}, Node: "pve1", Source: guest.Source{Blank: true}}
	}
	clone := vm("cl", 221)
	clone.Source = guest.Source{Clone: &guest.Clone{Name: "gold", Full: true}}
	byVMID := vm("cl", 221)
	byVMID.Source = guest.Source{Clone: &guest.Clone{VMID: 220, Full: true}}
	gold, unassigned := vm("gold", 220), vm("gold", 0)
	gold.Template, unassigned.Template = true, true
	labelled, managed := vm("web", 0), vm("ha", 201)
	labelled.Labels, managed.HA = map[string]string{"app": "web"}, &guest.HAWanted{State: "started"}

	job := kind.Desired{Kind: "BackupJob", Name: "nightly", ID: "nightly", Selects: map[string]string{"app": "web"}}
	named := kind.Desired{Kind: "BackupJob", Name: "nightly", ID: "nightly", Guests: []kind.GuestLabel{{Label: "VirtualMachine/web", Key: "vmid"}}}
	rule := kind.Desired{Kind: "AffinityRule", Name: "apart", ID: "apart"}
	rule.Put(kind.Intent{Key: "type", Text: "resource-affinity"})
	rule.Put(kind.Intent{Key: "resources", Text: "vm:201"})

	tests := map[string]struct {
		guest  *guest.Desired
		object *kind.Desired
		needs  guest.Desired // of the manifests
		rows   []cluster.Row
		want   string // "" if it does not wait
		fault  bool   // it is a fault if no manifest describes what it needs
	}{
		"template":               {guest: &clone, needs: gold, want: "VirtualMachine/gold, which does not exist yet", fault: true},
		"template_without_vmid":  {guest: &clone, needs: unassigned, want: "VirtualMachine/gold, which does not exist yet", fault: true},
		"template_by_vmid":       {guest: &byVMID, needs: gold, want: "VirtualMachine/gold, which does not exist yet", fault: true},
		"no_template_yet":        {guest: &clone, needs: gold, rows: []cluster.Row{{Kind: guest.VirtualMachine, VMID: 220, Name: "gold"}}, want: "VirtualMachine/gold, which is not a template yet", fault: true},
		"not_yet_by_vmid":        {guest: &byVMID, needs: gold, rows: []cluster.Row{{Kind: guest.VirtualMachine, VMID: 220}}, want: "VirtualMachine/gold, which is not a template yet"},
		"template_exists":        {guest: &clone, needs: gold, rows: []cluster.Row{{Kind: guest.VirtualMachine, VMID: 220, Name: "gold", Template: true}}},
		"another_of_its_name":    {guest: &clone, needs: gold, rows: []cluster.Row{{Kind: guest.VirtualMachine, VMID: 900, Name: "gold", Template: true}}, want: "VirtualMachine/gold, which does not exist yet"},
		"guest_of_a_replication": {object: new(replicationJob("201-0", "pve2")), needs: managed, want: "VirtualMachine/ha, which does not exist yet", fault: true},
		"guests_with_labels":     {object: &job, needs: labelled, want: "VirtualMachine/web, which does not exist yet", fault: true},
		"guest_of_a_job":         {object: &named, needs: labelled, want: "VirtualMachine/web, which does not exist yet"},
		"guest_under_ha":         {object: &rule, needs: managed, rows: []cluster.Row{{Kind: guest.VirtualMachine, VMID: 201}}, want: "VirtualMachine/ha, which the HA manager does not manage yet", fault: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lists := map[guest.Kind]cluster.Objects{}
			for _, k := range []guest.Kind{"BackupJob", "Replication", "AffinityRule"} {
				lists[k] = cluster.Objects{ReadAt: time.Unix(1, 0), Asked: []string{"nightly", "201-0", "apart"}}
			}
			got := cluster.Snapshot{
				Inventory: cluster.Inventory{Rows: test.rows, Version: guest.Version{Major: 9}}, Objects: lists, Absent: map[int]cluster.Absence{221: cluster.Gone},
			}
			planOf := func(others ...guest.Desired) plan.Guest {
				want := plan.Desired{Others: others}
				if test.guest != nil {
					want.Guests = []guest.Desired{*test.guest}
				} else {
					want.Objects = plan.Objects{Wanted: []kind.Desired{*test.object}}
				}
				return plan.New(want, got).Guests[0]
			}
			switch p := planOf(test.needs); {
			case test.want == "" && len(p.Steps) == 0:
				t.Errorf("got %+v, want a step", p.Conditions)
			case test.want != "" && (len(p.Steps) != 0 || len(p.Conditions) != 1 || p.Conditions[0].Type != plan.WaitsFor || !strings.HasSuffix(p.Conditions[0].Message, test.want)):
				t.Errorf("got %+v, want it to wait for %q", p.Conditions, test.want)
			}
			if p := planOf(); test.fault && (len(p.Steps) != 0 || len(p.Conditions) != 1 || p.Conditions[0].Type != plan.Blocked || p.Conditions[0].Reason.Act() != reason.EditManifest) {
				t.Errorf("got %+v without the manifest, want a fault", p.Conditions)
			}
		})
	}
}
