package guest

import "strconv"

// row is what this agent knows of one native key, or of a family of keys such as net0 to net31.
type row struct {
	key   string // "memory"; of a family what stands before the number, "net"
	slots int    // keys of the family; 0 where key is a key itself

	// How its text is read.
	scalar         // of a plain value
	syntax *syntax // of a property string; nil for a plain value
	drive  bool    // a disk, mount point or tray, see drive.go

	// What its absence means.
	absentValue string // the native text that an absent key equals; "" if absence is a value of its own
	device      bool   // the key is a device: absent, there is none, whatever its sub-keys default to
	once        bool   // used when the guest is made, and not read back
	required    bool   // cannot be deleted: it is set to its default instead

	// What a change does.
	effect  effect
	cost    *costRule // where the effect does not say it all
	blocks  *obstacle // nil never blocks
	instead string    // the key that Proxmox stores a written value under, where it is another one

	// Who may write it, and where it is known.
	rootOnly  bool   // no API token may, not even one of root@pam
	privilege string // that a token needs on the guest
	releases
}

// costRule says what a change costs where the effect of its row does not say it all.
type costRule struct {
	description string // for people, of a guest that runs
	cost        func(edit) (Class, string)
}

// obstacle says when a change cannot be made.
type obstacle struct {
	description string // for people
	reason      func(edit) string
}

// effect says when a written change reaches a running guest.
type effect uint8

const (
	atOnce      effect = iota
	plugNetwork        // at once if the guest's hotplug key names network, else at the next start; so the next four
	plugDisk
	plugUSB
	plugCPU
	plugMemory
	atStart  // at the next start
	atCreate // never: it is used when the guest is made
	never    // never: Proxmox keeps it itself
)

// table finds rows by key.
type table map[string]*row

// newTable indexes rows, each key of a family for itself.
func newTable(groups ...[]row) table {
	t := table{}
	for _, rows := range groups {
		for i := range rows {
			r := &rows[i]
			if r.slots == 0 {
				t[r.key] = r
			}
			for n := range r.slots {
				t[r.key+strconv.Itoa(n)] = r
			}
		}
	}
	return t
}

var (
	virtualMachineTable = newTable(vmRows, vmDeviceRows, vmDriveRows)
	containerTable      = newTable(ctRows, ctDeviceRows)
)

// unknownRow stands for keys that the table does not hold: they are compared as text, and assumed to need a restart.
var unknownRow = row{effect: atStart}

// plainSyntax reads the sub-keys of an intent on a key that the table does not hold.
var plainSyntax syntax

// find returns the row of a key, or unknownRow and false.
func find(kind Kind, key string) (*row, bool) {
	t := virtualMachineTable
	if kind == Container {
		t = containerTable
	}
	if r, ok := t[key]; ok {
		return r, true
	}
	return &unknownRow, false
}

// canonical returns the one spelling of text's meaning.
func (r *row) canonical(text string) string {
	switch {
	case isBlank(text):
		return ""
	case r.syntax != nil:
		return r.syntax.canonical(text)
	default:
		return r.scalar.canonical(text)
	}
}

// isBlank reports whether text is what Proxmox stores for an empty value, one space, or nothing.
func isBlank(text string) bool { return text == "" || text == " " }
