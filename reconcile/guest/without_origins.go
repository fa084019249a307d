package guest

import "slices"

// WithoutOrigins returns the Desired without positions in manifests: moving a line is not a change.
func (d Desired) WithoutOrigins() Desired {
	d.Origin = Origin{}
	d.Settings = nil
	d.Intents = slices.Clone(d.Intents)
	for i := range d.Intents {
		d.Intents[i].Origin = Origin{}
	}
	d.Secrets = slices.Clone(d.Secrets)
	for i := range d.Secrets {
		d.Secrets[i].Origin = Origin{}
	}
	if d.HA != nil {
		wanted := *d.HA
		wanted.Origin = Origin{}
		d.HA = &wanted
	}
	if d.Firewall != nil {
		wanted := *d.Firewall
		wanted.Origin, wanted.RuleOrigins = Origin{}, nil
		d.Firewall = &wanted
	}
	if d.Snapshots != nil {
		schedule := *d.Snapshots
		schedule.Origin = Origin{}
		d.Snapshots = &schedule
	}
	if d.Invalid != nil {
		invalid := *d.Invalid
		invalid.Origin = Origin{}
		d.Invalid = &invalid
	}
	return d
}
