// Package placement chooses nodes for new guests whose manifests leave the choice to the agent.
//
// The only function is Choose: from the list of resources and the guests that the manifests want it returns a node for each guest that needs one, with
// the reason, or why the guest has to wait. It is pure, and its result does not depend on the order of its input.
//
// Start reading with choose.go (the order of the rules), then need.go (what a guest needs) and load.go (what the nodes have left).
package placement
