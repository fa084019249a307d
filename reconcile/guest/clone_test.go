package guest

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCloneObstacles compares manifests with templates: what an API token can never write to the clone is known before the clone is made.
func TestCloneObstacles(t *testing.T) {
	t.Parallel()
	vm := keys{"name": "tmpl", "scsi0": "local:9000/base-9000-disk-0.qcow2,size=8G", "ide0": "local:9000/vm-9000-cloudinit.qcow2,media=cdrom", "memory": "1024", "description": "of the template"}
	ct := keys{"hostname": "tmpl", "rootfs": "local-lvm:base-9000-disk-0,size=4G", "unprivileged": "1"}
	with := func(key, value string) keys {
		more := maps.Clone(vm)
		more[key] = value
		return more
	}
	tests := map[string]struct {
		kind     Kind
		template keys
		intents  []Intent
		ignore   []string
		want     []string // key: note
	}{
		"nothing":              {VirtualMachine, vm, []Intent{text("memory", "2048"), subs("scsi0", "size=20G")}, nil, nil},
		"cloud_init_elsewhere": {VirtualMachine, vm, []Intent{subs("ide2", "storage=local", "volume=cloudinit", "media=cdrom")}, nil, []string{"ide2: the cloud-init drive is on ide0: set cloudInit.slot: ide0"}},
		"cloud_init_moves": {
			VirtualMachine, vm, []Intent{subs("ide2", "storage=local", "volume=cloudinit", "media=cdrom"), absent("ide0")}, nil, nil,
		},
		"larger":    {VirtualMachine, vm, []Intent{subs("scsi0", "size=4G")}, nil, nil},
		"root_only": {VirtualMachine, vm, []Intent{text("hookscript", "local:snippets/h.sh")}, nil, []string{"hookscript: Proxmox lets only root@pam change it, and no API token (root)"}},
		"root_only_in_the_template": {
			VirtualMachine, with("hookscript", "local:snippets/h.sh"), []Intent{text("hookscript", "local:snippets/h.sh")}, nil, nil,
		},
		"boot_of_a_new_disk":          {VirtualMachine, vm, []Intent{subs("boot", "order=scsi1;scsi0"), subs("scsi1", "storage=local", "size=1G")}, nil, nil},
		"boot_of_a_missing_disk":      {VirtualMachine, vm, []Intent{subs("boot", "order=scsi1;scsi0")}, nil, []string{"boot: the boot order names a device that does not exist: scsi1"}},
		"privileged":                  {Container, ct, []Intent{text("unprivileged", "0")}, nil, []string{"unprivileged: can only be set when the guest is created"}},
		"unprivileged":                {Container, ct, []Intent{text("unprivileged", "1"), text("memory", "1024")}, nil, nil},
		"the_name_is_the_clone's_own": {VirtualMachine, vm, []Intent{text("name", "other")}, nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			template := live(test.template)
			template.Ref, template.Node, template.Template = Ref{Kind: test.kind, Name: "tmpl", VMID: 9000}, "pve1", true
			d := want(Observed{Ref: Ref{Kind: test.kind, Name: "web-1", VMID: 201}}, test.intents...)
			d.Ignore, d.Source = test.ignore, Source{Clone: &Clone{VMID: 9000, Full: true}}
			var got []string
			for _, change := range CloneObstacles(d, template) {
				line := change.Key + ": " + change.Note
				if change.RootOnly {
					line += " (root)"
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("obstacles differ (-want +got):\n%s", strings.TrimSpace(diff))
			}
		})
	}
}
