package guest

import "strings"

// driveCost is that of a drive: a medium and a new disk come at no cost, a disk that goes interrupts what is on it.
func driveCost(e edit) (Class, string) {
	from, to := volumeOf(e.from), volumeOf(e.to)
	switch {
	case e.from == "":
		return e.effectCost()
	case from != to && isCloudInit(from):
		class, _ := e.effectCost()
		return class, "the cloud-init volume is made anew when it is needed"
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

// waitsForStart reports whether a change of a drive's options is one that a running guest does not take. Containers take none.
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

// waits reports whether no option of a drive reaches a running guest.
func (s *syntax) waits() bool {
	switch s {
	case efiSyntax, tpmSyntax, rootSyntax, mountSyntax:
		return true
	default:
		return false
	}
}

// driveBlocked says why a drive cannot change: it is the host's, it cannot go, or protection keeps it.
func driveBlocked(e edit) string {
	from, to := volumeOf(e.from), volumeOf(e.to)
	leaves := e.from != "" && from != to
	switch {
	case strings.HasPrefix(to, "/"):
		return rootOnlyNote
	case leaves && e.row.required:
		return "a container keeps its root volume"
	case e.protected() && (leaves && !isTray(from) || e.live.Kind == Container && e.from != ""):
		return protectedNote
	default:
		return ""
	}
}

const detachedNote = "detached, the volume stays as unused"
