package guest

import "gitops-agent/reconcile/guest/form"

// scalar is a form.Scalar under a short name, since the rows and the syntaxes name it several hundred times.
type scalar = form.Scalar

// Scalars that several rows share.
var (
	yesNo     = scalar{Form: form.Bool}
	anyText   = scalar{}
	asNotes   = scalar{Form: form.Notes, Max: 8192}
	asTags    = scalar{Form: form.Tags}
	asName    = scalar{Form: form.Name}
	asSecret  = scalar{Form: form.Secret}
	asSet     = scalar{Form: form.Set}
	asRanges  = scalar{Form: form.Ranges}
	asHex     = scalar{Form: form.Hex}
	asList    = scalar{Form: form.List}
	asMAC     = scalar{Form: form.MAC}
	asNetwork = scalar{Form: form.Network}
	asAddress = scalar{Form: form.Address}
	asVolume  = scalar{Form: form.Volume}
	asSize    = scalar{Form: form.Size}
	asMapping = scalar{Form: form.ID}
	asPort    = scalar{Form: form.Port}
	asFormat  = oneOf("raw", "qcow", "qed", "qcow2", "vmdk", "cloop")
	asEncoded = scalar{Form: form.Encoded}
	asUUID    = scalar{Form: form.UUID}
)

// whole is an integer of at least low. If high is not 0, it is at most high.
func whole(low, high float64) scalar { return scalar{Form: form.Int, Min: low, Max: high} }

// fraction is a number of at least low. If high is not 0, it is at most high.
func fraction(low, high float64) scalar { return scalar{Form: form.Number, Min: low, Max: high} }

// oneOf is a word of an enumeration.
func oneOf(words ...string) scalar { return scalar{Form: form.Enum, Words: words} }

var newVolumeFormats = []string{"raw", "qcow2", "vmdk"}
