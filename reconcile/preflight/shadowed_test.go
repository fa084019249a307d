package preflight

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/order"
)

// A role on a deeper path replaces those above; a pool only adds. What is lacking is named once for each path, and before an order is signed.
func TestRolesThatShadowThoseAbove(t *testing.T) {
	t.Parallel()
	all := map[string]bool{"VM.Audit": true, "VM.Backup": true, "VM.Snapshot": true, "VM.PowerMgmt": true, "VM.Migrate": true}
	without := func(privileges ...string) map[string]bool {
		left := map[string]bool{}
		for p := range all {
			left[p] = true
		}
		for _, p := range privileges {
			delete(left, p)
		}
		return left
	}
	tests := map[string]struct {
		granted Granted
		want    string // "PATH: LACKS", separated by "; "
		backup  string // what an order to make a backup of 201 lacks
	}{
		"inherited":                    {Granted{"/": all, "/vms": all, "/storage": {"Datastore.AllocateSpace": true}}, "", ""},
		"vms":                          {Granted{"/": all, "/vms": without("VM.Backup", "VM.Snapshot"), "/storage": {"Datastore.AllocateSpace": true}}, "/vms: VM.Backup, VM.Snapshot", "VM.Backup on /vms/201"},
		"guest":                        {Granted{"/": all, "/vms": all, "/vms/201": without("VM.Backup"), "/storage": {"Datastore.AllocateSpace": true}}, "/vms/201: VM.Backup", "VM.Backup on /vms/201"},
		"another_guest":                {Granted{"/": all, "/vms": all, "/vms/202": without("VM.Backup"), "/storage": {"Datastore.AllocateSpace": true}}, "/vms/202: VM.Backup", ""},
		"pool_adds":                    {Granted{"/": all, "/vms": all, "/vms/201": all, "/storage": {"Datastore.AllocateSpace": true}}, "", ""},
		"no_access":                    {Granted{"/": all, "/storage": {"Datastore.AllocateSpace": true}}, "/vms: VM.Backup, VM.Migrate, VM.PowerMgmt, VM.Snapshot", "VM.Backup on /vms/201"},
		"not_propagated":               {Granted{"/": {"VM.Backup": false}, "/vms": without("VM.Backup")}, "", "VM.Backup on /vms/201"},
		"never_granted":                {Granted{"/": without("VM.Backup"), "/vms": without("VM.Backup")}, "", "VM.Backup on /vms/201"},
		"storage":                      {Granted{"/": all, "/vms": all}, "", "Datastore.AllocateSpace on /storage/local"},
		"guest_below_a_guestless_path": {Granted{"/": all, "/vms": without("VM.Backup"), "/vms/201": all, "/storage/local": {"Datastore.AllocateSpace": true}}, "/vms: VM.Backup", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, u := range Shadowed(test.granted) {
				_, lacks, _ := strings.Cut(u.Problem, "lacks ")
				lacks, _, _ = strings.Cut(lacks, " here")
				got = append(got, u.Name+": "+lacks)
				if !u.Warning || !strings.Contains(u.Hint, "pveum acl modify "+u.Name+" ") {
					t.Errorf("got %+v, want a warning with the command", u)
				}
			}
			if text := strings.Join(got, "; "); text != test.want {
				t.Errorf("got %q, want %q", text, test.want)
			}
			backup := order.Request{Op: cluster.OpBackup, Params: map[string]string{order.KeyStorage: "local"}}
			if got := LackedByOrder(backup, 201, test.granted); got != test.backup {
				t.Errorf("got %q for the order, want %q", got, test.backup)
			}
		})
	}
}
