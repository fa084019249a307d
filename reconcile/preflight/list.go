package preflight

// Kind is the kind of the names in a List. Its text is also the word for one of them.
type Kind string

// The kinds of lists.
const (
	Bridge Kind = "bridge" // of the host, and virtual networks
	Volume Kind = "volume" // of one content type on a storage
	CPU    Kind = "cpu"    // models of virtual machines
)

// List identifies a list of names on a node. Guests that need the same list share it.
type List struct {
	Kind    Kind
	Node    string
	Storage string // of volumes
	Content string // of volumes: images, import, iso, vztmpl, backup, snippets
}

// Answer is the names of a list, or the error of reading it.
type Answer struct {
	Names []string
	Err   error
}
