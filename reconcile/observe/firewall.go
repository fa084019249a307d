package observe

import (
	"context"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// firewallRounds is how many readings of a guest's configuration there are for one of its firewall: a firewall is changed by hand less often, and its
// reading takes two calls or more.
const firewallRounds = 10

// Firewalls returns the guests whose manifests describe a firewall, and whether that includes aliases or sets.
func Firewalls(guests []guest.Desired) map[int]bool {
	wanted := make(map[int]bool)
	for i := range guests {
		if d := &guests[i]; d.Firewall != nil && d.VMID != 0 {
			wanted[d.VMID] = d.Firewall.NamesManaged()
		}
	}
	return wanted
}

// WithFirewall returns a guest that was just read with its firewall. A failure is in the firewall.
func WithFirewall(ctx context.Context, reader cluster.FirewallReader, seen guest.Observed, names bool) guest.Observed {
	fw, err := reader.Firewall(ctx, cluster.Row{Kind: seen.Kind, VMID: seen.VMID, Node: seen.Node}, names)
	if err != nil {
		fw = guest.FirewallSeen{Err: err.Error()}
	}
	seen.Firewall = &fw
	return seen
}

// WithFirewallFor returns one guest with its firewall if its manifest describes one.
func WithFirewallFor(ctx context.Context, reader cluster.FirewallReader, guests []guest.Desired, seen guest.Observed) guest.Observed {
	i := slices.IndexFunc(guests, func(d guest.Desired) bool { return d.VMID == seen.VMID })
	if i < 0 || guests[i].Firewall == nil {
		return seen
	}
	return WithFirewall(ctx, reader, seen, guests[i].Firewall.NamesManaged())
}

// firewallDue reports whether the next reading of a guest includes its firewall.
func (o *Observer) firewallDue(vmid int, now time.Time) bool {
	names, wanted := o.firewalls[vmid]
	if !wanted {
		return false
	}
	fw := o.seen[vmid].Firewall
	return fw == nil || fw.Err != "" || names && !fw.Named || now.Sub(fw.ReadAt) >= firewallRounds*o.resync
}

// markWithoutFirewall makes guests due whose newest reading lacks their firewall.
func (o *Observer) markWithoutFirewall() {
	for vmid, names := range o.firewalls {
		if seen, known := o.seen[vmid]; known && (seen.Firewall == nil || names && !seen.Firewall.Named) {
			o.due[vmid] = true
		}
	}
}

// keepFirewall returns a reading with the newest reading of the firewall.
func (o *Observer) keepFirewall(seen guest.Observed) guest.Observed {
	if _, wanted := o.firewalls[seen.VMID]; !wanted {
		seen.Firewall = nil
	} else if seen.Firewall == nil {
		seen.Firewall = o.seen[seen.VMID].Firewall
	}
	return seen
}

// forgetFirewall lets the next reading of a guest include its firewall.
func (o *Observer) forgetFirewall(vmid int) {
	if seen, known := o.seen[vmid]; known && seen.Firewall != nil {
		stale := *seen.Firewall
		stale.ReadAt = time.Time{}
		seen.Firewall = &stale
		o.seen[vmid] = seen
	}
}

// launchDatacenter starts the reading of the datacenter's firewall if it is due and matters to a guest.
func (o *Observer) launchDatacenter(ctx context.Context, r *round, now time.Time) {
	_, pending := o.pending[PartDatacenter]
	if len(o.firewalls) == 0 || pending || now.Sub(o.datacenterRead) < firewallRounds*o.resync {
		return
	}
	o.datacenterRead = now
	o.call(r, PartDatacenter, func() arrival {
		on, err := o.reader.FirewallEnabled(ctx)
		return arrival{firewallOn: on, err: err}
	})
}

// keepDatacenter takes the reading of the datacenter's firewall. While it cannot be read, nothing is known of it.
func (o *Observer) keepDatacenter(on bool, err error) {
	o.datacenter = cluster.Datacenter{FirewallRead: err == nil, FirewallOn: on}
	if err != nil {
		o.datacenter.Err = err.Error()
	}
}
