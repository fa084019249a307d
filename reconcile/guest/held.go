package guest

// HeldTo returns the guest as an earlier version of its manifest wants it, with the name and the guards of the present one: a guard counts at once, also for
// a guest that a change has not reached yet. With ownFirewall the earlier guarded firewall satisfies the present guard, and stays.
func (d Desired) HeldTo(earlier Desired, ownFirewall bool) Desired {
	held := earlier
	held.Ref, held.Origin, held.Settings = d.Ref, d.Origin, d.Settings
	held.Adopt, held.Backup, held.Observe, held.Kept, held.Suspend, held.Lifecycle = d.Adopt, d.Backup, d.Observe, d.Kept, d.Suspend, d.Lifecycle
	held.Snapshots = d.Snapshots
	held.DependsOn, held.Wave, held.Health, held.Rollout, held.Labels, held.Invalid = d.DependsOn, d.Wave, d.Health, d.Rollout, d.Labels, d.Invalid
	if text := d.FirewallGuard(); text != "" && !ownFirewall {
		if g, err := DecodeFirewallGuard(text); err == nil {
			held = held.WithFirewall(g)
		}
	}
	if d.WantedProtection() == ProtectionOn && held.WantedProtection() != ProtectionOn {
		held = held.WithProtection()
	}
	return held
}
