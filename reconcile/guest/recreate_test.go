package guest

import "testing"

// A guest is created again without an approval only if its source brings every volume.
func TestDefaultRecreate(t *testing.T) {
	clone, image, template := Source{Clone: &Clone{Name: "t"}}, Source{Image: &Image{Volume: "local:import/a.qcow2", Slot: "scsi0"}}, Source{Template: &Template{Volume: "local:vztmpl/a.tar.zst"}}
	sub := func(key string, pairs ...string) Intent {
		in := Intent{Key: key, Verb: Want, Sub: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			in.Sub[pairs[i]] = pairs[i+1]
		}
		return in
	}
	text := func(key, text string) Intent { return Intent{Key: key, Verb: Want, Text: text} }
	tests := map[string]struct {
		kind    Kind
		source  Source
		intents []Intent
		want    Permission
	}{
		"nothing":              {VirtualMachine, Source{}, nil, Approve},
		"clone":                {VirtualMachine, clone, []Intent{text("memory", "2048"), sub("net0", "bridge", "vmbr0")}, Allow},
		"clone_grown":          {VirtualMachine, clone, []Intent{sub("scsi0", "size", "8G", "discard", "on")}, Allow},
		"clone_new_disk":       {VirtualMachine, clone, []Intent{sub("scsi0", "storage", "a", "size", "8G")}, Approve},
		"clone_attached_disk":  {VirtualMachine, clone, []Intent{sub("scsi1", "volume", "a:vm-201-disk-7")}, Approve},
		"clone_native_disk":    {VirtualMachine, clone, []Intent{text("scsi1", "a:vm-201-disk-7,size=4G")}, Approve},
		"clone_native_new":     {VirtualMachine, clone, []Intent{text("scsi1", "a:4")}, Approve},
		"clone_removed_disk":   {VirtualMachine, clone, []Intent{{Key: "scsi1", Verb: Absent}}, Allow},
		"clone_cdrom":          {VirtualMachine, clone, []Intent{sub("ide2", "volume", "local:iso/a.iso", "media", "cdrom"), sub("ide3", "volume", "none", "media", "cdrom")}, Allow},
		"clone_native_cdrom":   {VirtualMachine, clone, []Intent{text("ide2", "local:snippets/a.img,media=cdrom")}, Allow},
		"clone_cloudinit":      {VirtualMachine, clone, []Intent{sub("ide2", "storage", "a", "volume", "cloudinit")}, Allow},
		"clone_firmware":       {VirtualMachine, clone, []Intent{sub("efidisk0", "storage", "a")}, Approve},
		"clone_tpm":            {VirtualMachine, clone, []Intent{sub("tpmstate0", "storage", "a")}, Approve},
		"image":                {VirtualMachine, image, []Intent{sub("scsi0", "storage", "a", "size", "8G")}, Allow},
		"image_second_disk":    {VirtualMachine, image, []Intent{sub("scsi0", "storage", "a"), sub("scsi1", "storage", "a", "size", "8G")}, Approve},
		"iso":                  {VirtualMachine, Source{ISO: &ISO{Volume: "local:iso/a.iso", Slot: "ide2"}}, nil, Approve},
		"blank":                {VirtualMachine, Source{Blank: true}, nil, Approve},
		"backup":               {VirtualMachine, Source{Backup: &Backup{Volume: "pbs:backup/vm/201/x"}}, nil, Approve},
		"container":            {Container, template, []Intent{sub("rootfs", "storage", "a", "size", "8G")}, Allow},
		"container_clone":      {Container, clone, []Intent{sub("rootfs", "storage", "a", "size", "8G")}, Allow},
		"container_mount":      {Container, template, []Intent{sub("mp0", "storage", "a", "size", "8G", "mp", "/data")}, Approve},
		"container_attached":   {Container, template, []Intent{sub("mp0", "volume", "a:subvol-210-disk-1", "mp", "/data")}, Approve},
		"container_host_mount": {Container, template, []Intent{sub("mp0", "volume", "/srv/data", "mp", "/data")}, Allow},
		"container_blank":      {Container, Source{}, []Intent{sub("rootfs", "storage", "a")}, Approve},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := Desired{Ref: Ref{Kind: test.kind, Name: "x", VMID: 201}, Source: test.source, Intents: test.intents}
			if got := d.DefaultRecreate(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
