package guest

// form is the way in which a plain value is written.
type form uint8

// Forms of plain values. See canonical.go for the canonical text of each form.
const (
	opaqueForm    form = iota // equal only as text
	boolForm                  // 1, on, yes, true or 0, off, no, false
	intForm                   // of any sign, in decimal
	weightForm                // an integer that the kernel's scheduler clamps to 1..10000
	numberForm                // with an optional fraction
	enumForm                  // one of an enumeration
	nameForm                  // labels of letters, digits and hyphens
	notesForm                 // text whose trailing white space is lost
	tagsForm                  // tags, see Tags
	setForm                   // words whose order does not matter
	listForm                  // words whose order matters
	hotplugForm               // a setForm with the short forms 0 and 1
	macForm                   // a MAC address
	addressForm               // an IP address
	networkForm               // an IP address with its prefix length, or dhcp, auto, manual
	uuidForm                  // of a firmware table
	keysForm                  // public keys, URL-encoded as Proxmox wants them
	encodedForm               // URL-encoded text
	machineForm               // a machine type, with or without its version
	sizeForm                  // see ParseSize
	idForm                    // the name of a resource mapping
	portForm                  // socket, or a device of the host
	volumeForm                // storage:volume, none, cdrom, or a path of the host
	secretForm                // written, and read back as asterisks
	rangesForm                // numbers and ranges of numbers, as a set: 0;2-3
	hexForm                   // a number in hexadecimal
	pciForm                   // PCI addresses, as a set
	usbForm                   // vendor:product, bus-port, or spice
	environForm               // NAME=value, separated by NUL
	generatedForm             // a UUID, 1 to generate one, or 0
)

// scalar is the type of a plain value: its form, and the accepted values.
type scalar struct {
	form      form
	min, max  float64  // of integers and numbers; a max of 0 means no limit
	words     []string // the accepted words of an enumeration or a set; empty accepts any word
	item      form     // of a list's words
	separator string   // joins the words of a set or list; "" is ";"
}
