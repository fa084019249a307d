package configtext

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConfigText(t *testing.T) {
	const text = "#first line\n#100%25 sure\nboot:  \ncores: 2\nscsi0: local:100/vm-100-disk-0.raw,size=1G\n\n" +
		"[PENDING]\ncores: 4\ndelete: !scsi1,tags\n\n[before]\n#why\ncores: 1\nsnaptime: 1700000000\n"
	c := Parse(QEMU, text)
	if diff := cmp.Diff(Values{
		"description": "first line\n100% sure", "boot": " ", "cores": "2", "scsi0": "local:100/vm-100-disk-0.raw,size=1G",
	}, c.Values); diff != "" {
		t.Errorf("current section (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Values{"cores": "4"}, c.Pending); diff != "" {
		t.Errorf("pending section (-want +got):\n%s", diff)
	}
	want := []PendingDelete{{Key: "scsi1", Force: true}, {Key: "tags"}}
	if diff := cmp.Diff(want, c.Deletes); diff != "" {
		t.Errorf("deletes (-want +got):\n%s", diff)
	}
	if got := c.Snapshot("before").Values["description"]; got != "why" {
		t.Errorf("snapshot description: got %q, want why", got)
	}
	if got := c.Format(QEMU); got != text {
		t.Errorf("formatted:\ngot  %q\nwant %q", got, text)
	}
}

// FuzzConfigText checks that a parsed file, formatted and parsed again, gives the same text for every content.
func FuzzConfigText(f *testing.F) {
	f.Add("#d\nboot:  \ncores: 2\n\n[PENDING]\ndelete: a,!b\n\n[snap]\n#x\nname: y\n")
	f.Add("name: x\n\n[special:cloudinit]\nadded: sshkeys\nname: y\n")
	f.Add("[pve:pending]\n#only\nfeatures: nesting=1\n")
	f.Add("key without colon\n#%zz%4\nnet0: virtio=AA:BB,bridge=vmbr0\n[unclosed\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range []Kind{QEMU, LXC} {
			once := Parse(kind, text).Format(kind)
			twice := Parse(kind, once).Format(kind)
			if once != twice {
				t.Errorf("%s: got %q after a second pass, want %q", kind, twice, once)
			}
		}
	})
}
