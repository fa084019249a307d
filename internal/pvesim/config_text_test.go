package pvesim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConfigText(t *testing.T) {
	const text = "#first line\n#100%25 sure\nboot:  \ncores: 2\nscsi0: local:100/vm-100-disk-0.raw,size=1G\n\n" +
		"[PENDING]\ncores: 4\ndelete: !scsi1,tags\n\n[before]\n#why\ncores: 1\nsnaptime: 1700000000\n"
	c := parseConfig(QEMU, text)
	if diff := cmp.Diff(values{
		"description": "first line\n100% sure", "boot": " ", "cores": "2", "scsi0": "local:100/vm-100-disk-0.raw,size=1G",
	}, c.values); diff != "" {
		t.Errorf("current section (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(values{"cores": "4"}, c.pending); diff != "" {
		t.Errorf("pending section (-want +got):\n%s", diff)
	}
	want := []pendingDelete{{key: "scsi1", force: true}, {key: "tags"}}
	if diff := cmp.Diff(want, c.deletes, cmp.AllowUnexported(pendingDelete{})); diff != "" {
		t.Errorf("deletes (-want +got):\n%s", diff)
	}
	if got := c.snap("before").values["description"]; got != "why" {
		t.Errorf("snapshot description: got %q, want why", got)
	}
	if got := c.format(QEMU); got != text {
		t.Errorf("formatted:\ngot  %q\nwant %q", got, text)
	}
}

func TestDescriptionDiffersByKind(t *testing.T) {
	tests := map[string]struct {
		kind Kind
		set  string
		want string
	}{
		"vm_strips_trailing":   {QEMU, "  a  \n\n", "  a"},
		"vm_keeps_inner":       {QEMU, "a\n\nb", "a\n\nb"},
		"vm_unicode":           {QEMU, "ünï ✓ %41 #", "ünï ✓ %41 #"},
		"vm_crlf":              {QEMU, "a\r\nb", "a\r\nb"},
		"ct_appends_newline":   {LXC, "a", "a\n"},
		"ct_keeps_one_newline": {LXC, "a\n", "a\n"},
		"ct_section_lookalike": {LXC, "[x]\nkey: v", "[x]\nkey: v\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := newGuest(100, tt.kind, "pve1")
			g.edit(func(c *config) { c.values["description"] = tt.set })
			if got := g.conf.values["description"]; got != tt.want {
				t.Errorf("read back: got %q, want %q", got, tt.want)
			}
		})
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
			once := parseConfig(kind, text).format(kind)
			twice := parseConfig(kind, once).format(kind)
			if once != twice {
				t.Errorf("%s: got %q after a second pass, want %q", kind, twice, once)
			}
		}
	})
}
