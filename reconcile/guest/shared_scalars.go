package guest

// Scalars that several rows share.
var (
	yesNo     = scalar{form: boolForm}
	anyText   = scalar{}
	asNotes   = scalar{form: notesForm, max: 8192}
	asTags    = scalar{form: tagsForm}
	asName    = scalar{form: nameForm}
	asSecret  = scalar{form: secretForm}
	asSet     = scalar{form: setForm}
	asRanges  = scalar{form: rangesForm}
	asHex     = scalar{form: hexForm}
	asList    = scalar{form: listForm}
	asMAC     = scalar{form: macForm}
	asNetwork = scalar{form: networkForm}
	asAddress = scalar{form: addressForm}
	asVolume  = scalar{form: volumeForm}
	asSize    = scalar{form: sizeForm}
	asMapping = scalar{form: idForm}
	asPort    = scalar{form: portForm}
	asFormat  = oneOf("raw", "qcow", "qed", "qcow2", "vmdk", "cloop")
	asEncoded = scalar{form: encodedForm}
	asUUID    = scalar{form: uuidForm}
)

// whole is an integer of at least low. If high is not 0, it is at most high.
func whole(low, high float64) scalar { return scalar{form: intForm, min: low, max: high} }

// fraction is a number of at least low. If high is not 0, it is at most high.
func fraction(low, high float64) scalar { return scalar{form: numberForm, min: low, max: high} }

// oneOf is a word of an enumeration.
func oneOf(words ...string) scalar { return scalar{form: enumForm, words: words} }

var newVolumeFormats = []string{"raw", "qcow2", "vmdk"}
