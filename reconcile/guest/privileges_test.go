package guest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// needLines renders needs as "privilege[|or] path[|or path]: key", for tables.
func needLines(needs []Need) []string {
	var lines []string
	for _, n := range needs {
		privilege, path := n.Privilege, n.Path
		if n.Or != "" {
			privilege += "|" + n.Or
		}
		if n.OrPath != "" {
			path += "|" + n.OrPath
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", privilege, path, n.Key))
	}
	return lines
}

func TestPrivileges(t *testing.T) {
	vm, ct := Ref{Kind: VirtualMachine, Name: "web-1", VMID: 201}, Ref{Kind: Container, Name: "dns-1", VMID: 310}
	kept := Lifecycle{Destroy: Deny}
	tests := map[string]struct {
		desired Desired
		intents []Intent
		want    []string
	}{
		"observed": {Desired{Ref: vm, Observe: true, State: Running}, []Intent{text("cores", "2")}, []string{"VM.Audit /vms/201: vmid"}},
		"checked": {
			Desired{Ref: vm, Observe: true, Health: Health{Agent: true}},
			nil,
			[]string{"VM.Audit /vms/201: vmid", "VM.GuestAgent.Audit|VM.Monitor /vms/201: health"},
		},
		"minimal": {Desired{Ref: vm, Lifecycle: kept}, nil, []string{"VM.Audit /vms/201: vmid", "VM.Config.Options /vms/201: tags"}},
		"removable": {Desired{Ref: vm}, nil, []string{
			"VM.Allocate /vms/201: lifecycle", "VM.Audit /vms/201: vmid", "VM.Config.Options /vms/201: tags", "VM.PowerMgmt /vms/201: lifecycle",
		}},
		"surroundings": {
			Desired{Ref: vm, Lifecycle: kept, Pool: "prod", HA: &HAWanted{State: "started"}, Migrate: MigrateOnline, Template: true, State: Running, Refresh: true},
			nil,
			[]string{
				"Sys.Audit /: ha", "Sys.Console /: ha", "Pool.Allocate /pool/prod: pool", "Pool.Audit /pool/prod: pool",
				"VM.Allocate /vms/201|/pool/prod: pool", "VM.Allocate /vms/201|/pool/prod: template", "VM.Audit /vms/201|/pool/prod: vmid",
				"VM.Config.Cloudinit /vms/201|/pool/prod: cloudinit", "VM.Config.Options /vms/201|/pool/prod: tags",
				"VM.Migrate /vms/201|/pool/prod: node", "VM.PowerMgmt /vms/201|/pool/prod: state",
			},
		},
		"keys": {
			Desired{Ref: vm, Lifecycle: kept, Secrets: []Secret{{Key: "cipassword", File: "web"}}},
			[]Intent{
				text("cores", "2"), absent("memory"), subs("startup", "order=1"), subs("net0", "bridge=vmbr0", "tag=20"), subs("net1", "bridge=vmbr1"),
				subs("scsi0", "storage=ceph", "size=32G"), subs("ide2", "volume=cloudinit", "storage=local"), subs("ide0", "volume=local:iso/x.iso", "media=cdrom"),
				text("scsi1", "local-lvm:vm-201-disk-1,discard=on"), subs("hostpci0", "mapping=gpu"), subs("usb0", "mapping=zigbee"),
				subs("virtiofs0", "dirid=share"), text("rng0", "/dev/hwrng"), text("future", "1"),
			},
			[]string{
				"Sys.Modify /: startup",
				"Mapping.Use /mapping/dir/share: virtiofs0", "Mapping.Use /mapping/hwrng: rng0", "Mapping.Use /mapping/pci/gpu: hostpci0", "Mapping.Use /mapping/usb/zigbee: usb0",
				"SDN.Use /sdn/zones/localnetwork/vmbr0/20: net0", "SDN.Use /sdn/zones/localnetwork/vmbr1: net1",
				"Datastore.AllocateSpace /storage/ceph: scsi0", "Datastore.Audit|Datastore.AllocateSpace /storage/local: ide0",
				"VM.Audit /vms/201: vmid", "VM.Config.CDROM /vms/201: ide0", "VM.Config.CDROM /vms/201: ide2", "VM.Config.CPU /vms/201: cores",
				"VM.Config.Cloudinit|VM.Config.Network /vms/201: cipassword", "VM.Config.Cloudinit /vms/201: ide2",
				"VM.Config.Disk /vms/201: scsi0", "VM.Config.Disk /vms/201: scsi1", "VM.Config.Disk /vms/201: virtiofs0",
				"VM.Config.HWType /vms/201: hostpci0", "VM.Config.HWType /vms/201: rng0", "VM.Config.HWType /vms/201: usb0", "VM.Config.Memory /vms/201: memory",
				"VM.Config.Network /vms/201: net0", "VM.Config.Network /vms/201: net1", "VM.Config.Options /vms/201: startup", "VM.Config.Options /vms/201: tags",
			},
		},
		"roots": {
			Desired{Ref: vm, Lifecycle: kept},
			[]Intent{text("args", "-foo"), subs("usb0", "host=1-1"), subs("hostpci0", "host=01:00"), text("serial0", "/dev/ttyS0")},
			[]string{"root@pam /: args", "root@pam /: hostpci0", "root@pam /: serial0", "root@pam /: usb0", "VM.Audit /vms/201: vmid", "VM.Config.Options /vms/201: tags"},
		},
		"roots_of_container": {
			Desired{Ref: ct, Lifecycle: kept},
			[]Intent{subs("features", "keyctl=1"), subs("mp0", "volume=/srv", "mp=/srv"), subs("features", "nesting=1")},
			[]string{"root@pam /: features", "root@pam /: mp0", "VM.Allocate /vms/310: features", "VM.Audit /vms/310: vmid", "VM.Config.Options /vms/310: tags"},
		},
		"clone": {
			Desired{Ref: vm, Lifecycle: kept, Source: Source{Clone: &Clone{VMID: 9000, Full: true, Storage: "ceph"}}},
			nil,
			[]string{
				"Datastore.AllocateSpace /storage/ceph: source", "VM.Allocate /vms/201: source", "VM.Audit /vms/201: vmid",
				"VM.Config.Options /vms/201: tags", "VM.Clone /vms/9000: source",
			},
		},
		"clone_to_a_node": {
			Desired{Ref: vm, Lifecycle: kept, Node: "pve1", Migrate: MigrateOffline, Source: Source{Clone: &Clone{VMID: 9000, Full: true}}},
			nil,
			[]string{
				"VM.Allocate /vms/201: source", "VM.Audit /vms/201: vmid", "VM.Config.Options /vms/201: tags", "VM.Migrate /vms/201: node",
				"VM.Clone /vms/9000: source",
			},
		},
		"clone_by_name": {
			Desired{Ref: Ref{Kind: VirtualMachine, Name: "x"}, Observe: false, Lifecycle: kept, Source: Source{Clone: &Clone{Name: "debian"}}},
			nil,
			[]string{"VM.Allocate /vms: source", "VM.Audit /vms: vmid", "VM.Clone /vms: source", "VM.Config.Options /vms: tags"},
		},
		"iso": {
			Desired{Ref: vm, Lifecycle: kept, Source: Source{ISO: &ISO{Volume: "local:iso/x.iso", Slot: "ide2"}}},
			nil,
			[]string{
				"Datastore.Audit|Datastore.AllocateSpace /storage/local: source", "VM.Allocate /vms/201: source", "VM.Audit /vms/201: vmid",
				"VM.Config.CDROM /vms/201: source", "VM.Config.HWType /vms/201: smbios1", "VM.Config.Options /vms/201: name", "VM.Config.Options /vms/201: tags",
			},
		},
		"privileged_container": {
			Desired{Ref: ct, Lifecycle: kept, Source: Source{Template: &Template{Volume: "local:vztmpl/x.tar.zst"}}, Secrets: []Secret{{Key: "password", File: "dns"}}},
			[]Intent{text("unprivileged", "0"), text("ssh-public-keys", "ssh-ed25519 AAAA a")},
			[]string{
				"Sys.Modify /: unprivileged", "Datastore.Audit|Datastore.AllocateSpace /storage/local: source", "VM.Allocate /vms/310: source",
				"VM.Audit /vms/310: vmid", "VM.Config.Network /vms/310: hostname", "VM.Config.Options /vms/310: tags",
			},
		},
		"backup": {
			Desired{Ref: vm, Lifecycle: kept, Source: Source{Backup: &Backup{Volume: "pbs:backup/vm/100/2026-01-01T00:00:00Z", Storage: "ceph"}}},
			nil,
			[]string{
				"Datastore.AllocateSpace /storage/ceph: source", "Datastore.AllocateSpace /storage/pbs: source", "VM.Backup /vms/100: source", "VM.Allocate /vms/201: source",
				"VM.Audit /vms/201: vmid", "VM.Config.Options /vms/201: name", "VM.Config.Options /vms/201: tags",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := test.desired
			d.Intents = want(Observed{Ref: d.Ref}, test.intents...).Intents
			if diff := cmp.Diff(test.want, needLines(Privileges(d))); diff != "" {
				t.Errorf("needs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBackedUp(t *testing.T) {
	tests := map[string]int{
		"pbs:backup/vm/201/2026-01-01T00:00:00Z":                    201,
		"pbs:backup/ct/310/2026-01-01T00:00:00Z":                    310,
		"local:backup/vzdump-qemu-100-2026_01_01-00_00_00.vma.zst":  100,
		"local:backup/vzdump-lxc-1000-2026_01_01-00_00_00.tar.zst":  1000,
		"local:backup/mine.vma.zst":                                 0,
		"local:iso/vm/100/x":                                        0,
		"":                                                          0,
		"local:backup/vzdump-openvz-100-2026_01_01-00_00_00.tar.gz": 0,
	}
	for volume, want := range tests {
		if got := backedUp(volume); got != want {
			t.Errorf("vmid of %q: got %d, want %d", volume, got, want)
		}
	}
}
