package guest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gitops-agent/reconcile/guest/form"
)

// named are acceptable texts of keys and sub-keys whose form says too little.
var named = map[string][]string{
	"bridge": {"vmbr0", "vmbr1"}, "mp": {"/data", "/srv/my files"}, "path": {"/dev/null"}, "mode": {"0660"}, "name": {"eth0"},
	"cputype": {"host", "kvm64", "x86-64-v3"}, "flags": {"+aes", "+aes;-pcid"}, "reported-model": {"kvm64", "Haswell"}, "phys-bits": {"40", "host"},
	"hv-vendor-id": {"abc123"}, "idmap": {"passthrough", "u:0:100000:1000;g:0:100000:1000"}, "timezone": {"host", "Europe/Berlin"},
	"startdate": {"now", "2006-06-17T16:01:21"}, "bootdisk": {"scsi0"}, "vmstatestorage": {"local"}, "legacy": {"cdn", "c"}, "order": {"net0"},
	"ip6": {"fd00::5/64", "FD00:0::5/64", "auto", "dhcp"}, "gw6": {"fd00::1", "FD00:0:0::1"}, "wwn": {"0x5000c50015EA71ac"},
	"vendor-id": {"0x10DE"}, "user": {"local:snippets/u.yaml"}, "cicustom.vendor": {"local:snippets/v.yaml"}, "vendor": {"ACME"}, "meta": {"local:snippets/m.yaml"},
	"network": {"local:snippets/n.yaml"}, "hookscript": {"local:snippets/hook.sh"}, "aw-bits": {"48"}, "current": {"16", "2048"},
	"balloon": {"0", "16"}, "parallel": {"/dev/parport0"}, "entrypoint": {"/sbin/init", "/bin/app --serve all"}, "rate": {"10.50", "0.5"},
	"smbios1.manufacturer": {"QUJD"}, "smbios1.product": {"QUJD"}, "smbios1.version": {"QUJD"}, "smbios1.serial": {"QUJD"}, "smbios1.sku": {"QUJD"},
	"smbios1.family": {"QUJD"}, "trunks": {"1;2;3"}, "mount": {"nfs;cifs", "nfs"},
}

// scalarSamples are acceptable texts of a plain value.
func scalarSamples(name string, s *scalar) []string {
	if texts := named[name]; texts != nil {
		return texts
	}
	if texts := named[name[strings.LastIndexByte(name, '.')+1:]]; texts != nil {
		return texts
	}
	switch s.Form {
	case form.Bool:
		return []string{"0", "1"}
	case form.Int, form.Weight:
		return slices.Compact([]string{printed(s.Min), printed(s.Min + 1)})
	case form.Number:
		return []string{printed(s.Min), printed(s.Min + 1.5)}
	case form.Enum:
		return s.Words
	case form.Name:
		return []string{"web1", "UPPER.case"}
	case form.Notes:
		return []string{"a", "two\nlines\n", "  lead # %41 ü", "a\r\nb"}
	case form.Tags:
		return []string{"b;a", "Web, PROD web", "0"}
	case form.Set:
		return []string{strings.Join(s.Words, ";"), s.Words[0]}
	case form.List:
		return map[form.Form][]string{form.Address: {"1.1.1.1,8.8.8.8", "fd00::1 1.1.1.1"}, form.Name: {"a.b c.d", "lan"}, form.Opaque: {"1.1.1.1;8.8.8.8", "lan"}}[s.Item]
	case form.Hotplug:
		return []string{"0", "1", "usb,network", "disk,cloudinit", "network,cpu"}
	case form.MAC:
		return []string{"BC:24:11:00:00:01", "bc:24:11:00:00:0a"}
	case form.Address:
		return []string{"10.0.0.1"}
	case form.Network:
		return []string{"10.0.0.5/24", "dhcp"}
	case form.UUID:
		return []string{"11111111-2222-3333-4444-5555AAAAbbbb"}
	case form.Keys:
		return []string{recordedKey, recordedKey + "%0A", recordedKey + "%0A" + recordedKey}
	case form.Encoded:
		return []string{"ABC", "a%20b%2f"}
	case form.Machine:
		return []string{"q35", "pc", "pc-i440fx-9.2", "pc-q35-10.0+pve0"}
	case form.Size:
		return []string{"1G"}
	case form.ID:
		return []string{"gpu-1"}
	case form.Port:
		return []string{"socket"}
	case form.Volume:
		return []string{"local:201/vm-201-disk-0.raw"}
	case form.Secret:
		return []string{"s3cret", "$5$abc$abcdefghijkl"}
	case form.Ranges:
		return []string{"0", "2;0", "0;2-3;1"}
	case form.Hex:
		return []string{"0x1AF4"}
	case form.PCI:
		return []string{"0000:01:00.0", "01:00;02:0A.1"}
	case form.USB:
		return []string{"0x1D6B:0x0002", "spice", "1-1.2"}
	case form.Environ:
		return []string{"A=1", "B=two words\x00A=1"}
	case form.Generated:
		return []string{"11111111-2222-3333-4444-5555AAAAbbbb", "0"}
	case form.Opaque:
		return []string{"Text", "abc-1"}
	}
	return nil
}

const recordedKey = "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIMjJIgmBwGHzxaes7iXh%2Fdc%2F0gj2H%2BIRWkEN5c9tx7Wa%20a%2Fb%2Bc%40h"

// samplesOf are acceptable native texts of a row: of a property string, each sub-key in each of its samples, and all at once.
func samplesOf(r *row) []string {
	if r.syntax == nil {
		return slices.DeleteFunc(slices.Clone(scalarSamples(r.key, &r.scalar)), func(text string) bool { return r.Check(text) != nil })
	}
	s := r.syntax
	base := map[string]string{}
	if len(s.anyOf) > 0 {
		base[s.anyOf[0]] = scalarSamples(r.key+"."+s.anyOf[0], &s.sub(s.anyOf[0]).scalar)[0]
	}
	for i := range s.subs {
		if s.subs[i].required {
			base[s.subs[i].name] = scalarSamples(r.key+"."+s.subs[i].name, &s.subs[i].scalar)[0]
		}
	}
	var texts []string
	add := func(subs map[string]string) {
		completeSample(r, subs)
		var p properties
		for _, name := range slices.Sorted(maps.Keys(subs)) {
			p = append(p, pair{name, subs[name]})
		}
		if text := s.native(p); text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	add(maps.Clone(base))
	all := maps.Clone(base)
	for i := range s.subs {
		known := &s.subs[i]
		for _, text := range scalarSamples(r.key+"."+known.name, &known.scalar) {
			one := maps.Clone(base)
			if slices.Contains(s.anyOf, known.name) {
				delete(one, s.anyOf[0])
			}
			one[known.name] = text
			if known.unsupportedBy(Version{}) == "" && known.Check(text) == nil {
				add(one)
				all[known.name] = text
				delete(all, "mapping") // which stands for host
			}
		}
	}
	delete(all, "import-from")
	add(all)
	return texts
}

// completeSample adds the sub-keys that others need, and removes those that exclude others.
func completeSample(r *row, subs map[string]string) {
	s := r.syntax
	for i := range s.subs {
		for needed := &s.subs[i]; subs[needed.name] != "" && needed.needs != ""; needed = s.sub(needed.needs) {
			if text := subs[needed.needs]; text == "" || text == "0" {
				texts := scalarSamples(r.key+"."+needed.needs, &s.sub(needed.needs).scalar)
				subs[needed.needs] = texts[len(texts)-1]
			}
		}
	}
	for range s.subs {
		for i := range s.subs {
			known := &s.subs[i]
			if subs[known.excludes] != "" || known.needs != "" && subs[known.needs] == "" {
				delete(subs, known.name)
			}
		}
	}
}

// sampleKeys are the keys that the samples of a table are tried on: of a family, its first and its last.
func sampleKeys(r *row) []string {
	if r.slots == 0 {
		return []string{r.key}
	}
	return []string{r.key + "0", r.key + printed(float64(r.slots-1))}
}

func rowsOf(kind Kind) []*row {
	groups := [][]row{vmRows, vmDeviceRows, vmDriveRows}
	if kind == Container {
		groups = [][]row{ctRows, ctDeviceRows}
	}
	var rows []*row
	for _, group := range groups {
		for i := range group {
			rows = append(rows, &group[i])
		}
	}
	return rows
}

// eachSample calls f for every sample of every key that holds a value of the owner's.
func eachSample(f func(kind Kind, key, text string)) {
	for _, kind := range []Kind{VirtualMachine, Container} {
		for _, r := range rowsOf(kind) {
			if r.effect == never || r.once {
				continue
			}
			for _, text := range samplesOf(r) {
				f(kind, sampleKeys(r)[0], text)
			}
		}
	}
}

// TestSamplesAreAcceptable: every row has samples, and Check accepts them.
func TestSamplesAreAcceptable(t *testing.T) {
	count := 0
	perRow := map[string]int{}
	eachSample(func(kind Kind, key, text string) {
		count++
		perRow[string(kind)+key]++
		if err := Check(kind, key, text); err != nil {
			t.Errorf("check %s %s %q: %v", kind, key, text, err)
		}
	})
	for _, kind := range []Kind{VirtualMachine, Container} {
		for _, r := range rowsOf(kind) {
			if key := sampleKeys(r)[0]; r.effect != never && !r.once && perRow[string(kind)+key] == 0 {
				t.Errorf("%s %s: got no sample, want one", kind, key)
			}
		}
	}
	if count < 500 {
		t.Errorf("samples: got %d, want at least 500", count)
	}
}

// TestSamplesAreCanonicalOnce: canonicalising twice is canonicalising once, and a guest with one spelling is in sync with the
// other.
func TestSamplesAreCanonicalOnce(t *testing.T) {
	eachSample(func(kind Kind, key, text string) {
		once, _ := Canonical(kind, key, text)
		if twice, _ := Canonical(kind, key, once); twice != once {
			t.Errorf("canonical of %s %s %q: got %q, then %q, want the same", kind, key, text, once, twice)
		}
		for _, pair := range [][2]string{{text, text}, {text, once}, {once, text}} {
			checkEqual(t, kind, key, pair[0], pair[1])
		}
	})
}

// checkEqual checks that a guest whose key reads as have needs no change to have wanted.
func checkEqual(t rapid.TB, kind Kind, key, wanted, have string) {
	t.Helper()
	if wanted == "" {
		return
	}
	o := live(nil)
	o.Kind = kind
	if have != "" {
		o.Keys[key] = Value{Text: have, Set: true}
	}
	if got := Diff(want(o, text(key, wanted)), o); len(got) != 0 {
		t.Errorf("%s %s %q read as %q: got %v, want no change", kind, key, wanted, have, briefs(got))
	}
}

// printed returns a number as people write it.
func printed(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
