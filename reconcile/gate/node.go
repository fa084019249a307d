package gate

import (
	"fmt"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// judgeNode holds a step that needs a node that is offline, and a step that would bring a guest to a node in maintenance, or start one there.
func (g Gate) judgeNode(step plan.Step) Verdict {
	for _, call := range step.Calls {
		for _, node := range []string{call.Node, call.Params["target"]} {
			if node != "" && slices.Contains(g.Offline, node) {
				return held(reason.NodeOffline, fmt.Sprintf("node %s is offline", node), reason.StartTarget.Text)
			}
		}
		arrives := call.Params["target"]
		if call.Op.Boots() || call.Op != cluster.OpMigrate && step.BringsUp() {
			arrives = call.Node
		}
		if step.Order != nil && step.Order.Scheduled != nil {
			arrives = call.Node // it can wait until the work on the node is done
		}
		if arrives != "" && slices.Contains(g.Maintenance, arrives) {
			return held(reason.Window, fmt.Sprintf("node %s is in maintenance", arrives), reason.EndMaintenance.With(arrives))
		}
	}
	return Verdict{}
}

// NodeUnavailable reports whether the step waits for a node that is offline or in maintenance.
func (g Gate) NodeUnavailable(step plan.Step) bool { return g.judgeNode(step).Held }
