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

// block is why the API cannot make an edit at all. The zero value does not block.
type block struct {
	note     string // for people
	rootOnly bool   // root@pam can make the edit
}

func (b block) isSet() bool { return b != block{} }

// byRoot blocks an edit that only root@pam may make.
func byRoot() block {
	return block{note: "Proxmox lets only root@pam change it, and no API token", rootOnly: true}
}

// blockedBy returns why the API cannot make the edit at all.
func (e edit) blockedBy() block {
	unreleased := e.unsupported()
	switch {
	case e.row.instead != "":
		return block{note: "Proxmox stores it as " + e.row.instead + ": set that key"}
	case e.row.effect == never:
		return block{note: "only Proxmox writes it"}
	case unreleased != "":
		return block{note: unreleased}
	case e.row.rootOnly:
		return byRoot()
	case e.row.syntax != nil && e.from != "" && e.to != "" && e.changesFixed():
		return block{note: "can only be set when the device is created"}
	case e.row.drive:
		return driveBlocked(e)
	case e.row.blocks != nil:
		return e.row.blocks.reason(e)
	default:
		return block{}
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
