package guest_test

import (
	"slices"
	"testing"

	"gitops-agent/reconcile/guest"
)

func TestWords(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kind     guest.Kind
		key, sub string
		want     []string
	}{
		"key":          {guest.VirtualMachine, "bios", "", []string{"seabios", "ovmf"}},
		"sub_key":      {guest.VirtualMachine, "scsi3", "aio", []string{"native", "threads", "io_uring"}},
		"other_kind":   {guest.Container, "bios", "", nil},
		"plain_value":  {guest.VirtualMachine, "memory", "", nil},
		"no_sub_keys":  {guest.VirtualMachine, "bios", "type", nil},
		"unknown_sub":  {guest.VirtualMachine, "scsi3", "colour", nil},
		"unknown_slot": {guest.VirtualMachine, "scsi31", "aio", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := guest.Words(test.kind, test.key, test.sub)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if len(got) > 0 {
				got[0] = "changed"
			}
			if again := guest.Words(test.kind, test.key, test.sub); !slices.Equal(again, test.want) {
				t.Errorf("got %v after a caller changed the words, want %v", again, test.want)
			}
		})
	}
}

func TestSlotCount(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kind   guest.Kind
		family string
		want   int
	}{
		"disks":        {guest.VirtualMachine, "scsi", 31},
		"key_as_well":  {guest.VirtualMachine, "numa", 8},
		"mount_points": {guest.Container, "mp", 256},
		"other_kind":   {guest.Container, "scsi", 0},
		"single":       {guest.VirtualMachine, "rng", 0},
		"slot":         {guest.VirtualMachine, "scsi1", 0},
		"unknown":      {guest.VirtualMachine, "floppy", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := guest.SlotCount(test.kind, test.family); got != test.want {
				t.Errorf("got %d slots, want %d", got, test.want)
			}
		})
	}
}

func TestKindsOfKeys(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ known, drive, kept bool }{
		"scsi0":     {true, true, false},
		"tpmstate0": {true, true, false},
		"unused0":   {true, false, false},
		"memory":    {true, false, false},
		"digest":    {true, false, true},
		"cdrom":     {true, false, false},
		"floppy0":   {false, false, false},
	}
	for key, want := range tests {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			vm := guest.VirtualMachine
			if got := guest.IsKnown(vm, key); got != want.known {
				t.Errorf("got known %v, want %v", got, want.known)
			}
			if got := guest.IsDrive(vm, key); got != want.drive {
				t.Errorf("got drive %v, want %v", got, want.drive)
			}
			if got := guest.KeptByProxmox(vm, key); got != want.kept {
				t.Errorf("got kept by Proxmox %v, want %v", got, want.kept)
			}
		})
	}
}
