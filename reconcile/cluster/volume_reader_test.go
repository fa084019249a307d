package cluster

import (
	"slices"
	"testing"

	"gitops-agent/reconcile/guest"
)

// TestTouches has a guest with a disk, a cloud-init drive, an unused volume and the disk of another guest.
func TestTouches(t *testing.T) {
	live := guest.Observed{Ref: guest.Ref{Kind: guest.VirtualMachine, VMID: 201}, Keys: map[string]guest.Value{}}
	for key, text := range map[string]string{
		"scsi0": "lvm:vm-201-disk-0,size=4G", "scsi1": "lvm:vm-300-disk-0", "ide2": "lvm:vm-201-cloudinit,media=cdrom", "unused0": "lvm:vm-201-disk-1", "ide0": "local:iso/x.iso,media=cdrom",
	} {
		live.Keys[key] = guest.Value{Text: text, Set: true}
	}
	set := func(key, text string) Call { return Call{Op: OpConfig, Params: map[string]string{key: text}} }
	tests := map[string]struct {
		call Call
		want []Touch
	}{
		"scalar":             {set("cores", "2"), nil},
		"option_of_a_disk":   {set("scsi0", "lvm:vm-201-disk-0,discard=on,size=4G"), nil},
		"new_disk":           {set("scsi2", "lvm:32"), nil},
		"image_of_a_cdrom":   {set("ide3", "local:iso/y.iso,media=cdrom"), nil},
		"import_of_an_image": {set("scsi2", "lvm:0,import-from=local:import/x.qcow2"), nil},
		"import_of_a_base":   {set("scsi2", "lvm:0,import-from=lvm:base-9000-disk-0"), nil},
		"import_of_a_disk":   {set("scsi2", "lvm:0,import-from=lvm:vm-300-disk-1"), []Touch{{"lvm:vm-300-disk-1", Imports}}},
		"attach":             {set("scsi2", "lvm:vm-300-disk-1,discard=on"), []Touch{{"lvm:vm-300-disk-1", Attaches}}},
		"attach_own_unused":  {set("scsi2", "lvm:vm-201-disk-1"), []Touch{{"lvm:vm-201-disk-1", Attaches}}},
		"replace":            {set("scsi0", "lvm:vm-300-disk-1"), []Touch{{"lvm:vm-300-disk-1", Attaches}}},
		"replace_cloudinit":  {set("ide2", "lvm:vm-300-disk-1"), []Touch{{"lvm:vm-300-disk-1", Attaches}, {"lvm:vm-201-cloudinit", Deletes}}},
		"detach":             {Call{Op: OpConfig, Delete: []string{"scsi0"}}, nil},
		"delete_cloudinit":   {Call{Op: OpConfig, Delete: []string{"ide2"}}, []Touch{{"lvm:vm-201-cloudinit", Deletes}}},
		"delete_unused":      {Call{Op: OpConfig, Delete: []string{"unused0"}}, []Touch{{"lvm:vm-201-disk-1", Deletes}}},
		"move":               {Call{Op: OpMove, Params: map[string]string{"disk": "scsi0"}}, []Touch{{"lvm:vm-201-disk-0", Moves}}},
		"resize":             {Call{Op: OpResize, Params: map[string]string{"disk": "scsi0"}}, nil},
		"stop":               {Call{Op: OpStop}, nil},
		"template":           {Call{Op: OpTemplate}, append(own(Moves), Touch{"lvm:vm-300-disk-0", Moves})},
		"destroy":            {Call{Op: OpDestroy}, own(Deletes)},
		"destroy_unreferenced": {
			Call{Op: OpDestroy, Params: map[string]string{"destroy-unreferenced-disks": "1"}}, append(own(Deletes), Touch{Effect: Deletes}),
		},
		"migrate": {Call{Op: OpMigrate}, append(own(Migrates), Touch{Effect: Migrates})},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.call.Kind, test.call.VMID = guest.VirtualMachine, 201
			if got := Touches(test.call, live); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	create := Call{Op: OpCreate, Kind: guest.VirtualMachine, VMID: 202, Params: map[string]string{"scsi0": "lvm:vm-202-disk-0", "scsi1": "lvm:8", "name": "x"}}
	if got := Touches(create, guest.Observed{}); !slices.Equal(got, []Touch{{"lvm:vm-202-disk-0", Attaches}}) {
		t.Errorf("create: got %v, want the named volume", got)
	}
}

// own returns the volumes that belong to guest 201.
func own(effect VolumeEffect) []Touch {
	return []Touch{{"lvm:vm-201-cloudinit", effect}, {"lvm:vm-201-disk-0", effect}, {"lvm:vm-201-disk-1", effect}}
}
