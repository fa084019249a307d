package guest

// ChangesOutsideConfig returns what a new guest gets apart from its native keys, as changes from nothing: its pool and its entry with the HA
// manager, also if the manifest ignores them later, sorted by key.
func ChangesOutsideConfig(d Desired) []Change {
	d.Ignore = nil
	c := comparison{want: &d, live: &Observed{Status: StatusStopped}}
	c.compareHA()
	c.comparePool()
	return c.changes
}
