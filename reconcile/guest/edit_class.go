package guest

// class returns the cost of the edit and a note on what happens.
func (e edit) class() (Class, string) {
	switch {
	case e.row.drive:
		return driveCost(e)
	case e.row.cost != nil:
		return e.row.cost.cost(e)
	default:
		return e.effectCost()
	}
}

// blockedBy returns why the API cannot make the edit at all, or "".
func (e edit) blockedBy() string {
	unreleased := e.unsupported()
	switch {
	case e.row.instead != "":
		return "Proxmox stores it as " + e.row.instead + ": set that key"
	case e.row.effect == never:
		return "only Proxmox writes it"
	case unreleased != "":
		return unreleased
	case e.row.rootOnly:
		return rootOnlyNote
	case e.row.syntax != nil && e.from != "" && e.to != "" && e.changesFixed():
		return "can only be set when the device is created"
	case e.row.drive:
		return driveBlocked(e)
	case e.row.blocks != nil:
		return e.row.blocks.reason(e)
	default:
		return ""
	}
}

// changesFixed reports whether the edit changes a sub-key that can only be set when the device is created.
func (e edit) changesFixed() bool {
	for i := range e.row.syntax.subs {
		if sub := &e.row.syntax.subs[i]; sub.fixed && e.differs(sub.name) {
			return true
		}
	}
	return false
}
