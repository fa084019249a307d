package guest

import "fmt"

// Version is the release line of Proxmox VE on a guest's node: 8.4, 9.1. The zero Version means that it was not read, and counts as the newest
// release that the key table knows. 8.4 is the oldest release whose differences the table contains; older releases count as 8.4.
type Version struct{ Major, Minor int }

// String returns "9.1".
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Before reports whether v is an older release than other.
func (v Version) Before(other Version) bool {
	return v.Major < other.Major || v.Major == other.Major && v.Minor < other.Minor
}

// releases are the releases that support a key or a sub-key. A release line gains keys over time, so a node of the first release may
// still be too old: then Proxmox refuses the write. The table never refuses a write that Proxmox accepts.
type releases struct {
	first Version // zero: all releases before gone
	gone  Version // the first release that does not support it any more; zero if all do
}

// The releases of the keys that 8.4 and 9.2 do not share.
//
// Source: the config schemas of qemu-server 8.4.10 and 9.2.6 and of pve-container 5.3.5 and 6.1.10, with the dates of their changes.
var (
	since90 = releases{first: Version{9, 0}}
	since91 = releases{first: Version{9, 1}}
	since92 = releases{first: Version{9, 2}}
	until90 = releases{gone: Version{9, 0}}
)

// unsupportedBy returns why a release does not support the key, or "".
func (s releases) unsupportedBy(v Version) string {
	switch {
	case v != Version{} && v.Before(s.first):
		return fmt.Sprintf("the node runs Proxmox VE %s, but needs %s or newer", v, s.first)
	case s.gone != Version{} && (v == Version{} || !v.Before(s.gone)):
		return fmt.Sprintf("Proxmox VE %s and newer do not support it", s.gone)
	default:
		return ""
	}
}

// String returns "since 9.1" or "until 9.0", or the empty string if every release supports the key.
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
