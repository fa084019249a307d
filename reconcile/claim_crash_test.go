package reconcile_test

import (
	"strings"
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
)

// TestCrashNeverLeavesAClaim crashes the agent around the calls by which it creates, clones or adopts a guest, and around the first configuration. After
// a restart the record is confirmed, with the uuid of a virtual machine.
func TestCrashNeverLeavesAClaim(t *testing.T) {
	t.Parallel()
	adopt := func(kind string) string {
		text := strings.Replace(adoptedERP("adopt: ifUnmanaged", "memory: {size: 2Gi}"), "vmid: 105", "vmid: 201", 1)
		return strings.Replace(text, "VirtualMachine", kind, 1)
	}
	paths := map[string]struct {
		kind, manifest string
		ops            []cluster.Op
	}{
		"create_machine":   {"VirtualMachine", blankYAML("memory: {size: 2Gi}"), []cluster.Op{cluster.OpCreate}},
		"create_container": {"Container", strings.Replace(dnsYAML("memory: {size: 2Gi}"), "vmid: 210", "vmid: 201", 1), []cluster.Op{cluster.OpCreate}},
		"clone_machine":    {"VirtualMachine", cloneOf("VirtualMachine"), []cluster.Op{cluster.OpCreate, cluster.OpConfig}},
		"clone_container":  {"Container", cloneOf("Container"), []cluster.Op{cluster.OpCreate, cluster.OpConfig}},
		"adopt_machine":    {"VirtualMachine", adopt("VirtualMachine"), []cluster.Op{cluster.OpConfig}},
		"adopt_container":  {"Container", adopt("Container"), []cluster.Op{cluster.OpConfig}},
	}
	for name, test := range paths {
		for _, op := range test.ops {
			for _, at := range []string{"before-call", "after-call"} {
				t.Run(name+"/"+string(op)+"/"+at, func(t *testing.T) {
					runLab(t, nil, func(t *testing.T, l *lab) {
						l.addCloneTemplate(test.kind)
						l.files["cluster.yaml"] = strings.Replace(clusterYAML, "from: 200", "from: 100", 1)
						if strings.HasPrefix(name, "adopt") {
							add, config := l.sim.AddVM, "name: erp\nmemory: 512\n"
							if test.kind == "Container" {
								add, config = l.sim.AddCT, "hostname: erp\nmemory: 512\n"
							}
							_, err := add(pvesim.Guest{VMID: 201, Config: config})
							l.ok(err)
						}
						l.files["guest.yaml"] = test.manifest
						l.push("a guest", alice)
						crashing := &crashingCluster{Cluster: l.cluster, op: op, at: at}
						l.opts.Cluster = crashing
						stop := l.start()
						eventually(l, "the crash", crashing.crashed.Load)
						stop()
						l.opts.Cluster = l.cluster
						defer l.start()()
						l.converge()
						owned := l.journal.State().Owned[201]
						if owned.Claiming || owned.Task != "" || owned.Tag != l.marker(201) || (owned.UUID != "") != (test.kind == "VirtualMachine") {
							t.Errorf("got record %+v of a guest with marker %q, want it confirmed", owned, l.marker(201))
						}
						if made := l.creations(201); made > 1 || len(l.journal.State().Open) != 0 {
							t.Errorf("got %d creations and open steps %+v, want at most one and none", made, l.journal.State().Open)
						}
					})
				})
			}
		}
	}
}
