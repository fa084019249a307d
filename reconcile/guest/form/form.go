package form

// Form is the way in which a plain value is written.
type Form uint8

// Forms of plain values. See canonical.go for the canonical text of each form.
const (
	Opaque    Form = iota // equal only as text
	Bool                  // 1, on, yes, true or 0, off, no, false
	Int                   // of any sign, in decimal
	Weight                // an integer that the kernel's scheduler clamps to 1..10000
	Number                // with an optional fraction
	Enum                  // one of an enumeration
	Name                  // labels of letters, digits and hyphens
	Notes                 // text whose trailing white space is lost
	Tags                  // tags, see AppendTags
	Set                   // words whose order does not matter
	List                  // words whose order matters
	Hotplug               // a Set with the short forms 0 and 1
	MAC                   // a MAC address
	Address               // an IP address
	Network               // an IP address with its prefix length, or dhcp, auto, manual
	UUID                  // of a firmware table
	Keys                  // public keys, URL-encoded as Proxmox wants them
	Encoded               // URL-encoded text
	Machine               // a machine type, with or without its version
	Size                  // see ParseSize
	ID                    // the name of a resource mapping
	Port                  // socket, or a device of the host
	Volume                // storage:volume, none, cdrom, or a path of the host
	Secret                // written, and read back as asterisks
	Ranges                // numbers and ranges of numbers, as a set: 0;2-3
	Hex                   // a number in hexadecimal
	PCI                   // PCI addresses, as a set
	USB                   // vendor:product, bus-port, or spice
	Environ               // NAME=value, separated by NUL
	Generated             // a UUID, 1 to generate one, or 0
)

// Scalar is the type of a plain value: its form, and the accepted values.
type Scalar struct {
	Form      Form
	Min, Max  float64  // of integers and numbers; a max of 0 means no limit
	Words     []string // the accepted words of an enumeration or a set; empty accepts any word
	Item      Form     // of a list's words
	Separator string   // joins the words of a set or list; "" is ";"
}
