package guest

// ChangesOutsideConfig returns what a guest that is yet to be made gets beside its native keys, as changes from nothing: its pool and its entry
// with the HA manager, in the order of their keys.
func ChangesOutsideConfig(d Desired) []Change {
	c := comparison{want: &d, live: &Observed{Status: StatusStopped}}
	c.compareHA()
	c.comparePool()
	return c.changes
}
