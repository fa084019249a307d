package affinity

import (
	"slices"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/kind"
)

// TestDecides asks which live rules decide whether vm:201 is run on pve2. The HA manager runs vm:202 on pve2 and vm:203 on pve3, and does not run vm:204.
func TestDecides(t *testing.T) {
	t.Parallel()
	nodeOf := func(name string) string {
		return map[string]string{"vm:201": "pve1", "vm:202": "pve2", "vm:203": "pve3"}[name]
	}
	for name, test := range map[string]struct {
		keys map[string]string
		want bool
	}{
		"nodes":                {map[string]string{"type": "node-affinity", "resources": "vm:201", "nodes": "pve1"}, true},
		"nodes_strict":         {map[string]string{"type": "node-affinity", "resources": "vm:201", "nodes": "pve1", "strict": "1"}, true},
		"nodes_of_the_target":  {map[string]string{"type": "node-affinity", "resources": "vm:201,vm:202", "nodes": "pve2"}, true},
		"disabled":             {map[string]string{"type": "node-affinity", "resources": "vm:201", "nodes": "pve1", "disable": "1"}, false},
		"nodes_of_another":     {map[string]string{"type": "node-affinity", "resources": "vm:202", "nodes": "pve1"}, false},
		"container":            {map[string]string{"type": "node-affinity", "resources": "ct:201", "nodes": "pve1"}, false},
		"group":                {map[string]string{"type": "group", "members": "vm:201", "nodes": "pve1", "nofailback": "1"}, true},
		"apart_from_target":    {map[string]string{"type": "resource-affinity", "affinity": "negative", "resources": "vm:201,vm:202"}, true},
		"apart_from_elsewhere": {map[string]string{"type": "resource-affinity", "affinity": "negative", "resources": "vm:201,vm:203"}, false},
		"apart_from_no_ha":     {map[string]string{"type": "resource-affinity", "affinity": "negative", "resources": "vm:201,vm:204"}, false},
		"together":             {map[string]string{"type": "resource-affinity", "affinity": "positive", "resources": "vm:201,vm:203"}, true},
		"together_with_no_ha":  {map[string]string{"type": "resource-affinity", "affinity": "positive", "resources": "vm:201,vm:204"}, false},
		"together_alone":       {map[string]string{"type": "resource-affinity", "affinity": "positive", "resources": "vm:201"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := LiveRules([]kind.Desired{{Kind: Name, Name: "of-git", ID: "r"}}, map[string]cluster.Object{"r": {ID: "r", Keys: test.keys}})
			got := slices.ContainsFunc(list, func(r Rule) bool { return r.Decides("vm:201", "pve2", nodeOf) })
			if got != test.want || len(list) > 0 && list[0].Label != "AffinityRule/of-git" {
				t.Errorf("got %t for %+v, want %t", got, list, test.want)
			}
		})
	}
}
