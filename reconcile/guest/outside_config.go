package guest

// ChangesOutsideConfig returns what a new guest gets apart from its native keys, as changes from nothing: its entry with the HA
// manager, its pool and the conversion to a template, also if the manifest ignores them later, sorted by key.
func ChangesOutsideConfig(d Desired) []Change {
	d.Ignore = nil
	c := comparison{want: &d, live: &Observed{Status: StatusStopped}}
	c.compareHA()
	c.comparePool()
	c.compareTemplate()
	return c.changes
}
