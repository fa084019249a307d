package guest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCreateParamsLeaveOutWhatIsRoots: a guest is created without the settings that only root@pam may make, and they are listed with the text that
// root has to write.
func TestCreateParamsLeaveOutWhatIsRoots(t *testing.T) {
	vm, ct := Ref{Kind: VirtualMachine, Name: "web-1"}, Ref{Kind: Container, Name: "dns-1"}
	template := Source{Template: &Template{Volume: "local:vztmpl/x.tar.zst"}}
	tests := map[string]struct {
		ref     Ref
		source  Source
		intents []Intent
		params  keys
		left    []string // key and text
	}{
		"nothing": {vm, Source{Blank: true}, []Intent{text("cores", "2")}, keys{"name": "web-1", "cores": "2"}, nil},
		"arguments": {
			vm, Source{Blank: true}, []Intent{text("args", "-foo"), text("cores", "2")}, keys{"name": "web-1", "cores": "2"}, []string{"args -foo"},
		},
		"devices": {
			vm,
			Source{Blank: true},
			[]Intent{subs("usb0", "host=1-1"), subs("usb1", "host=spice"), subs("hostpci0", "host=0000:01:00.0"), text("serial0", "/dev/ttyS0")},
			keys{"name": "web-1", "usb1": "spice"},
			[]string{"hostpci0 0000:01:00.0", "serial0 /dev/ttyS0", "usb0 1-1"},
		},
		"boot_from_a_device": {
			vm,
			Source{Blank: true},
			[]Intent{subs("boot", "order=usb0;net0"), subs("net0", "model=virtio", "bridge=vmbr0"), subs("usb0", "host=1-1")},
			keys{"name": "web-1", "net0": "virtio,bridge=vmbr0"},
			[]string{"usb0 1-1"},
		},
		"folder_of_the_host": {
			ct, template,
			[]Intent{subs("mp0", "volume=/srv/data", "mp=/data"), subs("rootfs", "storage=local-lvm", "size=8G")},
			keys{"hostname": "dns-1", "ostemplate": "local:vztmpl/x.tar.zst", "rootfs": "local-lvm:8"},
			[]string{"mp0 /srv/data,mp=/data"},
		},
		"privileged_nesting": {
			ct, template,
			[]Intent{subs("features", "nesting=1"), text("unprivileged", "0")},
			keys{"hostname": "dns-1", "ostemplate": "local:vztmpl/x.tar.zst", "unprivileged": "0"},
			[]string{"features nesting=1"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := want(Observed{Ref: test.ref}, test.intents...)
			d.Source = test.source
			got, err := CreateParams(d)
			if err != nil {
				t.Fatalf("create: got %v, want parameters", err)
			}
			if diff := cmp.Diff(test.params, keys(got)); diff != "" {
				t.Errorf("parameters (-want +got):\n%s", diff)
			}
			var left []string
			for _, c := range RootOnlyAtCreation(d, Version{}) {
				left = append(left, c.Key+" "+c.RootValue)
			}
			if !slices.Equal(left, test.left) {
				t.Errorf("left to root: got %q, want %q", left, test.left)
			}
		})
	}
}
