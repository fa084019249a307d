package guest

import "slices"

// WithoutOrigins returns what is wanted without the manifest lines that ask for it: a line that moves is no change.
func (d Desired) WithoutOrigins() Desired {
	d.Origin = Origin{}
	d.Intents = slices.Clone(d.Intents)
	for i := range d.Intents {
		d.Intents[i].Origin = Origin{}
	}
	d.Secrets = slices.Clone(d.Secrets)
	for i := range d.Secrets {
		d.Secrets[i].Origin = Origin{}
	}
	if d.HA != nil {
		wish := *d.HA
		wish.Origin = Origin{}
		d.HA = &wish
	}
	return d
}
