package plan

import (
	"fmt"
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/reason"
)

// TestHoldGrowth holds steps that take more of a storage than it has. A disk that is moved grows where it is afterwards, and a new disk of a guest that exists counts.
func TestHoldGrowth(t *testing.T) {
	t.Parallel()
	const gib = int64(1) << 30
	live := guest.Observed{
		Ref: guest.Ref{Kind: guest.VirtualMachine, VMID: 201}, Node: "pve1",
		Keys: map[string]guest.Value{"scsi0": {Text: "small:vm-201-disk-0,size=8G", Set: true}},
	}
	inventory := cluster.Inventory{Capacity: cluster.Capacity{Storages: []cluster.StorageCapacity{
		{Node: "pve1", Storage: "small", Size: 10 * gib, Used: 9 * gib, Available: true, Thick: true},
		{Node: "pve1", Storage: "large", Size: 40 * gib, Available: true, Thick: true},
	}}}
	step := func(op cluster.Op, pairs ...string) Step {
		s := Step{Op: op}
		for _, pair := range pairs {
			key, value, _ := strings.Cut(pair, "=")
			s.Changes = append(s.Changes, guest.Change{Key: key, Value: value})
		}
		return s
	}
	tests := map[string]struct {
		steps []Step
		want  string // the steps that are held, by number
	}{
		"grows":                    {[]Step{step(cluster.OpResize, "scsi0=12G")}, "0"},
		"moves":                    {[]Step{step(cluster.OpMove, "scsi0=large")}, ""},
		"moves, then grows":        {[]Step{step(cluster.OpMove, "scsi0=large"), step(cluster.OpResize, "scsi0=36G")}, ""},
		"moves, then grows beyond": {[]Step{step(cluster.OpMove, "scsi0=large"), step(cluster.OpResize, "scsi0=60G")}, "1"},
		"grows, then moves":        {[]Step{step(cluster.OpResize, "scsi0=9G"), step(cluster.OpMove, "scsi0=large")}, ""},
		"a new disk":               {[]Step{step(cluster.OpConfig, "scsi1=small:4,ssd=1")}, "0"},
		"a new disk elsewhere":     {[]Step{step(cluster.OpConfig, "scsi1=large:4")}, ""},
		"two that do not fit":      {[]Step{step(cluster.OpConfig, "scsi1=large:30", "scsi2=large:30")}, "0"},
		"the state of a firmware":  {[]Step{step(cluster.OpConfig, "efidisk0=small:4")}, ""},
		"other keys":               {[]Step{step(cluster.OpConfig, "memory=4096", "ide2=local:cloudinit")}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			holdGrowth(test.steps, live, inventory)
			got := ""
			for i := range test.steps {
				if test.steps[i].Hindrance.Reason == reason.Impossible {
					got += fmt.Sprint(i)
				}
			}
			if got != test.want {
				t.Errorf("got the steps %q held, want %q", got, test.want)
			}
		})
	}
}
