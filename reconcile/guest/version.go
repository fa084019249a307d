package guest

import "fmt"

// Version is the release line of Proxmox VE that a guest's node runs: 8.4, 9.1. The zero Version is that of a node which nobody
// asked, and counts as the newest that the key table knows. 8.4 is the oldest whose differences the table holds; older ones
// are taken for it.
type Version struct{ Major, Minor int }

// String returns "9.1".
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

func (v Version) before(other Version) bool {
	return v.Major < other.Major || v.Major == other.Major && v.Minor < other.Minor
}

// releases is the releases that know a key or a sub-key. Packages of a release line gain keys while the line lives, so that a
// node of the first release may still be too old: then Proxmox refuses the write. It is never this table that refuses a write
// which Proxmox takes.
type releases struct {
	first Version // zero is all before last
	gone  Version // the first release that does not know it any more; zero while all do
}

// The spans of what 8.4 and 9.2 do not share.
//
// Source: the config schemas of qemu-server 8.4.10 and 9.2.6 and of pve-container 5.3.5 and 6.1.10, and when they changed.
var (
	since91 = releases{first: Version{9, 1}}
	since92 = releases{first: Version{9, 2}}
	until90 = releases{gone: Version{9, 0}}
)

// unsupportedBy returns why a release does not know what the span is of, or "".
func (s releases) unsupportedBy(v Version) string {
	switch {
	case v != Version{} && v.before(s.first):
		return fmt.Sprintf("the node runs Proxmox VE %s, which does not know it before %s", v, s.first)
	case s.gone != Version{} && (v == Version{} || !v.before(s.gone)):
		return fmt.Sprintf("Proxmox VE %s and newer do not know it", s.gone)
	default:
		return ""
	}
}

// String returns "since 9.1" or "until 9.0", or the empty string for what every release knows.
func (s releases) String() string {
	switch {
	case s.first != Version{}:
		return "since " + s.first.String()
	case s.gone != Version{}:
		return "until " + s.gone.String()
	default:
		return ""
	}
}

// unsupported returns why the release that the guest's node runs does not take the edit, or "". What the guest has already, its
// node has taken.
func (e edit) unsupported() string {
	v := e.live.Version
	if why := e.row.unsupportedBy(v); why != "" && e.from == "" {
		return why
	}
	if e.row.syntax == nil || e.to == "" {
		return ""
	}
	from, to := e.parts()
	for _, p := range to {
		if why := e.row.syntax.sub(p.name).unsupportedBy(v); why != "" && from.find(p.name) < 0 {
			return p.name + ": " + why
		}
	}
	return ""
}
