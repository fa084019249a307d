package preflight

import "gitops-agent/reconcile/cluster"

// ClusterContext is what the cluster shows of the things to which guests refer. A nil list was not read, and is not checked.
type ClusterContext struct {
	Nodes, Storages, Pools []string
	Inventory              cluster.Inventory
	Granted                Granted // privileges of the token; nil if they were not read
}
