package guest

import "testing"

func TestRefNamesGuest(t *testing.T) {
	ref := Ref{Kind: VirtualMachine, Name: "web-1", VMID: 201}
	if got, want := ref.String(), "VirtualMachine/web-1 (201)"; got != want {
		t.Errorf("assigned: got %q, want %q", got, want)
	}
	ref.VMID = 0
	if got, want := ref.String(), "VirtualMachine/web-1"; got != want {
		t.Errorf("unassigned: got %q, want %q", got, want)
	}
	if got := VirtualMachine.API() + " " + Container.API(); got != "qemu lxc" {
		t.Errorf("kinds in API paths: got %q, want %q", got, "qemu lxc")
	}
}

func TestOriginString(t *testing.T) {
	tests := map[string]Origin{"": {}, "guests/web.yaml:12:5": {File: "guests/web.yaml", Line: 12, Column: 5}}
	for want, origin := range tests {
		if got := origin.String(); got != want {
			t.Errorf("origin: got %q, want %q", got, want)
		}
	}
}

// TestFindLabel: a name stands for a label if it is that of one label alone.
func TestFindLabel(t *testing.T) {
	t.Parallel()
	labels := []string{"VirtualMachine/web-1", "VirtualMachine/db", "Container/db", "BackupJob/nightly", "Pool/nested/web-1x"}
	for name, want := range map[string]string{
		"web-1": "VirtualMachine/web-1", "VirtualMachine/web-1": "VirtualMachine/web-1", "db": "", "Container/db": "Container/db", "nightly": "BackupJob/nightly",
		"web": "", "VirtualMachine": "", "": "", "Container/web-1": "",
	} {
		if got := FindLabel(name, labels); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
