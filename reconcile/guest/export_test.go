package guest

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gitops-agent/reconcile/guest/form"
)

// What the tests outside of the package need of those inside it.

// WrittenSample is a value that a guest's owner may want of a key.
type WrittenSample struct {
	Kind   Kind
	Intent Intent
	Text   string // the native text behind the intent, for keys that only root@pam writes
}

// WrittenSamples are those of every row that holds a value of the owner's, on the first and the last key of a family.
func WrittenSamples() []WrittenSample {
	var samples []WrittenSample
	for _, kind := range []Kind{VirtualMachine, Container} {
		for _, r := range rowsOf(kind) {
			if r.effect == never || r.effect == atCreate || r.key == "unused" || r.key == "rootfs" {
				continue // what Proxmox keeps, and what can only be set at creation
			}
			for _, text := range samplesOf(r) {
				if strings.Contains(text, "import-from=") {
					continue // which a source says
				}
				for _, key := range sampleKeys(r) {
					samples = append(samples, WrittenSample{kind, writtenIntent(kind, key, r, text), text})
				}
			}
		}
	}
	return samples
}

// writtenIntent asks for a sample: of a drive, for a new volume with the sample's options.
func writtenIntent(kind Kind, key string, r *row, text string) Intent {
	if !r.drive {
		return Intent{Key: key, Verb: Want, Text: text}
	}
	_, options, _ := strings.Cut(text, ",")
	volume := "local:1"
	if strings.Contains(options, "media=cdrom") {
		volume = "local:iso/tiny.iso"
	}
	in := intentOf(roundTrip{kind: kind, key: key, sent: strings.TrimSuffix(volume+","+options, ",")})
	in.Verb = Want
	return in
}

// RecordedWrite is a write that the real API took, with its intent. Volumes that it names are those of the guest vmid.
type RecordedWrite struct {
	Kind   Kind
	Intent Intent
	Sent   string
}

// RecordedWrites reads those of keys that the table holds.
func RecordedWrites(t *testing.T, vmids map[Kind]int) []RecordedWrite {
	t.Helper()
	var all []RecordedWrite
	for _, r := range storedRoundTrips(t) {
		if strings.Contains(r.sent, "\t") {
			continue // the client sends no control characters
		}
		id := strconv.Itoa(vmids[r.kind])
		r.sent = ownVolume.ReplaceAllString(r.sent, id+"/vm-"+id+"-")
		in := intentOf(r)
		in.Verb = Want
		all = append(all, RecordedWrite{r.kind, in, r.sent})
	}
	return all
}

var ownVolume = regexp.MustCompile(`\d+/vm-\d+-`)

// CreationSamples are one value of every key that holds a value of the owner's, with all its sub-keys, also of those that can only be set at creation.
func CreationSamples() []WrittenSample {
	var samples []WrittenSample
	for _, kind := range []Kind{VirtualMachine, Container} {
		for _, r := range rowsOf(kind) {
			if r.effect == never || r.once || r.key == "unused" || r.key == "rootfs" || r.key == "tags" || r.Form == form.Secret {
				continue // what Proxmox keeps, what every container has, the tags, which contain the marker, and what cannot be compared
			}
			texts := slices.DeleteFunc(samplesOf(r), func(text string) bool { return strings.Contains(text, "import-from=") })
			for i := range texts {
				texts[i] = strings.ReplaceAll(texts[i], "201", "202")
			}
			if len(texts) > 0 {
				key := sampleKeys(r)[0]
				text := texts[len(texts)-1]
				samples = append(samples, WrittenSample{kind, writtenIntent(kind, key, r, text), text})
			}
		}
	}
	return samples
}
