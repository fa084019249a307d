package guest

import (
	"fmt"
	"testing"
)

// TestRowsAreConsistent checks each row against the rules that its neighbours follow.
func TestRowsAreConsistent(t *testing.T) {
	tables := map[Kind][][]row{VirtualMachine: {vmRows, vmDeviceRows, vmDriveRows}, Container: {ctRows, ctDeviceRows}}
	for kind, groups := range tables {
		seen := map[string]bool{}
		for _, rows := range groups {
			for i := range rows {
				r := &rows[i]
				id := fmt.Sprintf("%s x%d", r.key, r.slots)
				if seen[id] {
					t.Errorf("%s %s: got two rows, want one", kind, id)
				}
				seen[id] = true
				checkRow(t, kind, r)
			}
		}
	}
}

func checkRow(t *testing.T, kind Kind, r *row) {
	t.Helper()
	switch {
	case r.device && r.absentValue != "":
		t.Errorf("%s %s: got a device with a default, want none", kind, r.key)
	case r.drive && (r.syntax == nil || r.syntax.style != driveStyle || !r.device):
		t.Errorf("%s %s: got a drive without a drive's syntax", kind, r.key)
	case r.absentValue == "":
	case r.syntax != nil:
		if err := r.syntax.check(r.absentValue); err != nil {
			t.Errorf("%s %s: default %q: %v", kind, r.key, r.absentValue, err)
		}
	default:
		if err := r.Check(r.absentValue); err != nil {
			t.Errorf("%s %s: default %q: %v", kind, r.key, r.absentValue, err)
		}
	}
	if r.syntax == nil {
		return
	}
	if r.syntax.bare != "" && r.syntax.sub(r.syntax.bare) == &anySub {
		t.Errorf("%s %s: bare sub-key %s is not among its sub-keys", kind, r.key, r.syntax.bare)
	}
	for i, known := range r.syntax.subs {
		if r.syntax.sub(known.name) != &r.syntax.subs[i] {
			t.Errorf("%s %s: got sub-key %s twice, want it once", kind, r.key, known.name)
		}
		if known.absentValue != "" && known.Check(known.absentValue) != nil {
			t.Errorf("%s %s: sub-key %s has the default %q, which it refuses", kind, r.key, known.name, known.absentValue)
		}
		if known.absentValue != known.Canonical(known.absentValue) {
			t.Errorf("%s %s: sub-key %s: got default %q, want its canonical text", kind, r.key, known.name, known.absentValue)
		}
	}
}

func TestFamiliesHaveTheirSlots(t *testing.T) {
	last := map[string]string{
		"net31": "net32", "scsi30": "scsi31", "virtio15": "virtio16", "sata5": "sata6", "ide3": "ide4", "usb13": "usb14", "hostpci15": "hostpci16",
		"serial3": "serial4", "ipconfig31": "ipconfig32", "numa7": "numa8", "unused255": "unused256", "efidisk0": "efidisk1",
	}
	for in, out := range last {
		if _, known := find(VirtualMachine, in); !known {
			t.Errorf("%s: got an unknown key, want a known one", in)
		}
		if _, known := find(VirtualMachine, out); known {
			t.Errorf("%s: got a known key, want an unknown one", out)
		}
	}
}
