package pvesim

import "gitops-agent/internal/pvesim/configtext"

// Kind is the type of a guest, spelled as in API paths.
type Kind = configtext.Kind

// The two kinds of guests.
const (
	QEMU = configtext.QEMU
	LXC  = configtext.LXC
)

// config is the parsed config file of a guest. The simulator writes and parses the text again after every change, so clients read values
// as they come back from the text.
type config = configtext.Config

// values are the keys of one section of a config file. The parameters of calls and parsed property strings have the same form.
type values = configtext.Values
