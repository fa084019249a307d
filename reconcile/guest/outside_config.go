package guest

// ChangesOutsideConfig returns what a new guest gets apart from its native keys, as changes from nothing: its pool and its entry with the HA
// manager, sorted by key.
func ChangesOutsideConfig(d Desired) []Change {
	c := comparison{want: &d, live: &Observed{Status: StatusStopped}}
	c.compareHA()
	c.comparePool()
	return c.changes
}
