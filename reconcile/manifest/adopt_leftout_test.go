package manifest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
)

// TestAdoptReportsOddNames: a value that no manifest accepts is reported itself, and not as the rest of its key.
func TestAdoptReportsOddNames(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kind guest.Kind
		keys map[string]string
		want []manifest.LeftOut
	}{
		"path": {
			guest.Container,
			map[string]string{"rootfs": "local-lvm:vm-105-disk-0,size=8G", "mp0": "local-lvm:vm-105-disk-1,mp=srv,size=8G"},
			[]manifest.LeftOut{{Key: "mp0", Reason: "a manifest accepts an absolute path without commas"}},
		},
		"image": {
			guest.VirtualMachine,
			map[string]string{"ide2": "l:iso/debian.iso,media=cdrom,size=600M"},
			[]manifest.LeftOut{{Key: "ide2", Reason: "no field can express its volume, and raw would name it"}},
		},
		"blanks": {
			guest.Container,
			map[string]string{"rootfs": "local-lvm:vm-105-disk-0,size=8G", "mp0": "local-lvm:vm-105-disk-1,mp=/srv/my data; or: not,size=8G"},
			nil,
		},
		"blank": {guest.VirtualMachine, map[string]string{"ide2": "local:iso/my debian.iso,media=cdrom,size=600M"}, nil},
		"plain": {guest.VirtualMachine, map[string]string{"ide2": "local:iso/debian.iso,media=cdrom,size=600M"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a, err := manifest.Adopt(liveGuest(test.kind, test.keys), adoptOptions)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, a.Left); diff != "" {
				t.Errorf("got other keys left out (-want +got):\n%s", diff)
			}
		})
	}
}
