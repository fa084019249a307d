package guest

// edit is a change of one key, with everything that its cost depends on.
type edit struct {
	live     *Observed
	key      string
	row      *row
	from, to string // native texts; "" is absent
}

// row defines one native key, or a family of keys such as net0 to net31.
type row struct {
	key   string // "memory"; of a family the part before the number, "net"
	slots int    // keys of the family; 0 where key is a key itself

	// How its text is read:
	scalar         // of a plain value
	syntax *syntax // of a property string; nil for a plain value
	drive  bool    // a disk, mount point or CD-ROM drive, see drive.go

	// What its absence means:
	absentValue string // the native text that an absent key equals; "" if absence is a value of its own
	device      bool   // the key is a device: if it is absent there is no device, regardless of the defaults of its sub-keys
	once        bool   // used when the guest is created, and not read back
	required    bool   // cannot be deleted: it is set to its default instead

	// What a change does:
	effect  effect
	cost    *costRule // if the effect is not the whole cost
	blocks  *obstacle // nil never blocks a change
	instead string    // the key under which Proxmox stores a written value, if it is another key

	unlisted unlistedRule // what a running guest uses from its next boot on although nothing is pending; nil if there is nothing

	// Who may write it, and which releases support it:
	rootOnly  bool   // no API token may, not even one of root@pam
	privilege string // that a token needs on the guest
	releases
}

// costRule returns the cost of a change if the effect of its row is not the whole cost.
type costRule struct {
	description string // for people, for a running guest
	cost        func(edit) (Class, string)
}

// obstacle is a reason why a change cannot be made.
type obstacle struct {
	description string // for people
	reason      func(edit) block
	part        func(edit) string // of an edit: the native text nearest to it that a token may write, which is the present one if there is none; nil if an edit has no parts
}

// effect is when a written change reaches a running guest.
type effect uint8

const (
	atOnce      effect = iota
	plugNetwork        // at once if the guest's hotplug key names network, else at the next start; the next four likewise
	plugDisk
	plugUSB
	plugCPU
	plugMemory
	atStart  // at the next start
	atCreate // never: used when the guest is created
	never    // never: only Proxmox writes it
)

// Canonical returns the same text for all spellings of a value. It hides the method of scalar, which knows plain values only.
func (r *row) Canonical(text string) string {
	switch {
	case isBlank(text):
		return ""
	case r.syntax != nil:
		return r.syntax.canonical(text)
	default:
		return r.scalar.Canonical(text)
	}
}
