package plan

import (
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// The digest of a step never changes: a person may have signed an approval that names it.
func TestStepDigestIsStable(t *testing.T) {
	ref := guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}
	tests := map[string]struct {
		step Step
		want string
	}{
		"config": {Step{
			Guest: ref, Op: cluster.OpConfig, Class: guest.Disruptive, DetachedVolumes: []string{"scsi1=local-lvm:vm-201-disk-1"}, Reason: "configuration differs",
			Calls: []cluster.Call{{
				Op: cluster.OpConfig, Kind: guest.VirtualMachine, Node: "pve1", VMID: 201, Params: map[string]string{"memory": "2048", "cores": "2"},
				Secrets: map[string]string{"cipassword": "web"}, Delete: []string{"scsi1", "net1"}, Digest: "d1",
			}},
		}, "baffb1f700ccb8d71405759138474334"},
		"clone": {Step{
			Guest: ref, Op: cluster.OpCreate, Class: guest.Live, TakesOwnership: true,
			Calls: []cluster.Call{{Op: cluster.OpCreate, Kind: guest.VirtualMachine, Node: "pve1", VMID: 201, CloneOf: 9000, Params: map[string]string{"full": "1"}}},
		}, "b7b82022c69e008a1afc7483d8d62302"},
		"reboot": {Step{
			Guest: ref, Op: cluster.OpReboot, Class: guest.Disruptive, Pending: []string{"cores=4"}, Doubt: "it also brings into effect what somebody else wrote: cpu",
			Calls: []cluster.Call{{Op: cluster.OpReboot, Kind: guest.VirtualMachine, Node: "pve1", VMID: 201, Params: map[string]string{"timeout": "180"}}},
		}, "3eea732563af0fa5d9face6fd6053b43"},
		"destroy": {Step{
			Guest: ref, Op: cluster.OpDestroy, Class: guest.Destructive, Volumes: []string{"local-lvm:vm-201-disk-0"}, Doubt: "ownership record and tag do not agree",
			Calls: []cluster.Call{
				{Op: cluster.OpConfig, Kind: guest.VirtualMachine, Node: "pve1", VMID: 201, Delete: []string{"protection"}},
				{Op: cluster.OpDestroy, Kind: guest.VirtualMachine, Node: "pve1", VMID: 201},
			},
		}, "bd1432e879f6c13b7fa537398c316983"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.step.Digest("home", "identity"); got != test.want {
				t.Errorf("got digest %s, want %s", got, test.want)
			}
		})
	}
}
