package guest

import "strings"

// driveCost is the cost of changing a drive. Changing a medium and adding a disk cost nothing; removing a disk interrupts its users.
func driveCost(e edit) (Class, string) {
	from, to := volumeOf(e.from), volumeOf(e.to)
	switch {
	case e.from == "":
		return e.effectCost()
	case from != to && isCloudInit(from):
		class, _ := e.effectCost()
		return class, "the cloud-init volume is created again when it is needed"
	case from != to && !isTray(from):
		return Disruptive, detachedNote
	case e.to == "":
		return e.effectCost()
	case from != to && isTray(to):
		return Live, "medium changed"
	case from != to:
		return Live, ""
	case e.running() && e.waitsForStart():
		return Restart, restartNeeded
	default:
		return Live, ""
	}
}

// waitsForStart reports whether a changed option of a drive does not apply to a running guest. In containers none applies.
func (e edit) waitsForStart() bool {
	if e.row.syntax.waits() {
		return true
	}
	for i := range e.row.syntax.subs {
		if sub := &e.row.syntax.subs[i]; sub.restart && e.differs(sub.name) {
			return true
		}
	}
	return false
}

// waits reports whether options of the drive never apply to a running guest.
func (s *syntax) waits() bool {
	switch s {
	case efiSyntax, tpmSyntax, rootSyntax, mountSyntax:
		return true
	default:
		return false
	}
}

// driveBlocked returns why a drive cannot change: it is a folder of the host, it must stay, or protection is on.
func driveBlocked(e edit) block {
	from, to := volumeOf(e.from), volumeOf(e.to)
	leaves := e.from != "" && from != to
	switch {
	case strings.HasPrefix(to, "/"):
		return byRoot()
	case leaves && e.row.required:
		return block{note: "the root volume of a container cannot be removed"}
	case e.protected() && (leaves && !isTray(from) || e.live.Kind == Container && e.from != ""):
		return block{note: protectedNote}
	default:
		return block{}
	}
}

const detachedNote = "detached, the volume stays as unused"
