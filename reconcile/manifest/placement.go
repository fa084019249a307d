package manifest

import (
	"gitops-agent/reconcile/guest"
)

// placement is where a guest may be. The field node of a spec is short for one preferred node.
type placement struct {
	prefer  textList
	migrate opt[string]
}

func (p *placement) fields() []field {
	return []field{
		{"prefer", "node", "Nodes that the guest may be on; it is created on the first one. Replaces the field node.", byHand(list(&p.prefer, nodeName, ""))},
		{"migrate", "", "Whether a guest on any other node is moved to the first one: deny leaves it where it is, offline moves it while it is stopped, online also while it runs (a container restarts). Default: deny.", choice(&p.migrate, string(guest.MigrateDeny), string(guest.MigrateOffline), string(guest.MigrateOnline))},
	}
}
