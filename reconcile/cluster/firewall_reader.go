package cluster

import (
	"context"

	"gitops-agent/reconcile/guest"
)

// FirewallReader reads firewalls. Only guests whose manifests describe one are asked for.
type FirewallReader interface {
	// Firewall reads the firewall of a vmid: options and rules, and with names also aliases and sets. A vmid without a guest may have one too: what was
	// written to it stays for the next guest with the vmid.
	Firewall(ctx context.Context, row Row, names bool) (guest.FirewallSeen, error)
	// FirewallEnabled reports whether the datacenter lets any firewall act.
	FirewallEnabled(ctx context.Context) (bool, error)
}

// Datacenter is what is known of the datacenter's firewall. The zero value knows nothing.
type Datacenter struct {
	FirewallRead bool   // FirewallOn is known
	FirewallOn   bool   // firewalls of guests have an effect
	Err          string // why the newest reading failed
}
