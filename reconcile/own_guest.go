package reconcile

// findOwnGuest looks for the guest in which the agent itself runs, until it is found. Of two guests that match, either may be the one.
func (e *Engine) findOwnGuest() {
	if !e.opts.Self.Known() || len(e.ownGuests) > 0 {
		return
	}
	found := make(map[int]bool)
	for vmid, seen := range e.readings.observer.Snapshot().Guests {
		if e.opts.Self.Matches(seen) {
			found[vmid] = true
			e.log.Info("agent runs in a guest that it manages", "vmid", vmid, "node", seen.Node)
		}
	}
	if len(found) > 0 {
		e.ownGuests = found
	}
}
