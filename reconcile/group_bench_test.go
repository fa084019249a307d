package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"
)

// BenchmarkGroupsAndSets reverses the rules of ten security groups of 20 rules, and replaces half of the entries of ten sets of 60. The metrics are those of one
// write. The processor time includes the simulator, which is in the same process.
func BenchmarkGroupsAndSets(b *testing.B) {
	const objects, rules, entries = 10, 20, 60
	sim := pvesim.New(pvesim.Options{TaskTime: time.Millisecond})
	b.Cleanup(sim.Close)
	l := newLab(b, sim, func(o *reconcile.Options) { o.Poll = time.Hour })
	l.grant("Sys.Modify")
	l.files["cluster.yaml"] = clusterYAML
	describe := func(changed bool) {
		for i := range objects {
			var lines []string
			for port := range rules {
				lines = append(lines, fmt.Sprintf("    - {type: in, action: ACCEPT, protocol: tcp, port: %d, source: +dc/set-%d}\n", 1000+port, i))
			}
			first := 0
			if changed {
				slices.Reverse(lines)
				first = entries / 2
			}
			l.files[fmt.Sprintf("group-%d.yaml", i)] = fmt.Sprintf("apiVersion: proxmox.gitops/v1alpha1\nkind: SecurityGroup\nmetadata: {name: group-%d}\nspec:\n  rules:\n", i) + strings.Join(lines, "")
			var set strings.Builder
			fmt.Fprintf(&set, "apiVersion: proxmox.gitops/v1alpha1\nkind: IPSet\nmetadata: {name: set-%d}\nspec:\n  entries:\n", i)
			for host := range entries {
				fmt.Fprintf(&set, "    - {cidr: 10.0.%d.%d}\n", i, first+host)
			}
			l.files[fmt.Sprintf("set-%d.yaml", i)] = set.String()
		}
		l.push("groups and sets", alice)
		if r := l.once(); !r.Converged {
			b.Fatalf("got %+v, want it converged", r)
		}
	}
	describe(false)
	sim.ResetCounters()
	changed := false
	before := processorTime(b)
	for b.Loop() {
		changed = !changed
		describe(changed)
	}
	used, counted := processorTime(b)-before, sim.Counters()
	b.ReportMetric(float64(used.Microseconds())/1000/float64(counted.Writes), "cpu-ms/write")
	b.ReportMetric(float64(counted.Reads)/float64(counted.Writes), "reads/write")
	b.ReportMetric(float64(counted.Writes)/float64(b.N), "writes/op")
}
