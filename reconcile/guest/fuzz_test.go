package guest

import (
	"strings"
	"testing"
)

func seedTexts(f *testing.F) {
	f.Helper()
	for key, texts := range vmTexts {
		for _, text := range texts {
			f.Add(false, key, text)
		}
	}
	for key, texts := range ctTexts {
		for _, text := range texts {
			f.Add(true, key, text)
		}
	}
	for _, sample := range allSamples() {
		f.Add(sample.kind == Container, sample.key, sample.text)
	}
	f.Add(false, "memory", "current=0=")
	f.Add(false, "memory", "current= ")
	f.Add(false, "hotplug", "1 1 ")
	for _, text := range []string{"virtio", "none", "=", ",", "a=b=c", "order=", "local:32", "%", "%zz", "1,1", "file=x,volume=y", "bps=1", "9999999999999999999"} {
		f.Add(false, "net0", text)
		f.Add(false, "scsi0", text)
		f.Add(false, "sshkeys", text)
		f.Add(true, "mp0", text)
	}
}

func kindOf(container bool) Kind {
	if container {
		return Container
	}
	return VirtualMachine
}

// FuzzCanonical: canonicalising twice is canonicalising once, whatever the text.
func FuzzCanonical(f *testing.F) {
	seedTexts(f)
	f.Fuzz(func(t *testing.T, container bool, key, text string) {
		kind := kindOf(container)
		once, _ := Canonical(kind, key, text)
		if twice, _ := Canonical(kind, key, once); twice != once {
			t.Errorf("canonical of %s %q: got %q, then %q, want the same", key, text, once, twice)
		}
	})
}

// FuzzCanonicalTextIsInSync: a guest needs no change to have the canonical text of a value that Proxmox may have stored.
func FuzzCanonicalTextIsInSync(f *testing.F) {
	seedTexts(f)
	f.Fuzz(func(t *testing.T, container bool, key, text string) {
		kind := kindOf(container)
		if Check(kind, key, text) != nil || key == "tags" && strings.Contains(strings.ToLower(text), markerPrefix) {
			return
		}
		canonical, _ := Canonical(kind, key, text)
		o := live(nil)
		o.Kind = kind
		o.Keys[key] = Value{Text: text, Set: true}
		if got := Diff(want(o, Intent{Key: key, Text: canonical}), o); canonical != "" && len(got) != 0 {
			t.Errorf("%s %q wanted as %q: got %v, want no change", key, text, canonical, briefs(got))
		}
	})
}

// FuzzWrittenTextSettles: once a wanted text is written to a guest with any other, nothing is left to write.
func FuzzWrittenTextSettles(f *testing.F) {
	f.Add(false, "net0", liveCard, "virtio,bridge=vmbr1")
	f.Add(false, "scsi0", liveDisk, "local-lvm:vm-201-disk-0,iops=5")
	f.Add(false, "agent", "1", "enabled=0,type=isa")
	f.Add(false, "smbios1", "uuid=11111111-2222-3333-4444-555555555555", "manufacturer=Foo")
	f.Add(false, "tags", "a;b", "B,c")
	f.Add(false, "boot", " ", "order=scsi0")
	f.Add(true, "net0", "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:AA,type=veth", "name=eth1,ip=dhcp")
	f.Add(true, "features", "", "nesting=1")
	f.Add(true, "description", "a\n", "b\n\n")
	f.Add(false, "smbios1", "manufacturer=Rm9v,base64=1", "product=YQ==,base64=1")
	f.Add(true, "env", "A=1", "B=2\x00A=1")
	f.Fuzz(func(t *testing.T, container bool, key, was, wanted string) {
		kind := kindOf(container)
		if Check(kind, key, wanted) != nil {
			return
		}
		o := live(nil)
		o.Kind = kind
		o.Keys[key] = Value{Text: was, Set: true}
		d := want(o, Intent{Key: key, Text: wanted})
		first := Diff(d, o)
		for _, c := range Diff(d, reread(o, first)) {
			if !settled(c) {
				t.Errorf("%s from %q to %q: wrote %v, then got %s, want nothing left to write", key, was, wanted, briefs(first), brief(c))
			}
		}
	})
}
