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
		if e.to != "" {
			class = Live // another medium in the same tray
		}
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
		if sub := &e.row.syntax.subs[i]; (sub.restart || sub.unlisted) && e.differs(sub.name) {
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

// driveBlocked returns why a drive cannot change: it is a folder of the host, or it must stay.
func driveBlocked(e edit) block {
	from, to := volumeOf(e.from), volumeOf(e.to)
	leaves := e.from != "" && from != to
	switch {
	case strings.HasPrefix(to, "/"):
		return byRoot()
	case leaves && e.row.required:
		return block{note: "the root volume of a container cannot be removed"}
	default:
		return block{}
	}
}

// guarded reports whether the protection flag of the guest stands against the edit, if it is on: a volume leaves its slot, or Proxmox refuses the edit. It
// refuses to remove a drive or an unused volume, and every change of a volume of a container, also a new one. It does not refuse another volume in place of a
// disk, which detaches the disk all the same. A medium and a cloud-init drive that are only taken out lose nothing.
//
// Source: PVE API, check_protection of PVE::AbstractConfig, which API2/Qemu.pm and LXC/Config.pm call.
func (e edit) guarded() bool {
	switch from := volumeOf(e.from); {
	case e.row.key == "unused":
		return true
	case !e.row.drive:
		return false
	case e.live.Kind == Container:
		return true
	default:
		return e.from != "" && (e.to == "" || from != volumeOf(e.to) && !isTray(from) && !isCloudInit(from))
	}
}

const detachedNote = "detached, the volume stays as unused"
