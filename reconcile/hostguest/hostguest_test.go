package hostguest_test

import (
	"os"
	"path/filepath"
	"testing"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/hostguest"
)

const (
	uuid    = "3e7c1a52-0b1f-4d7e-9f64-2b1c5a0d9e11"
	address = "bc:24:11:0a:0b:0c"
)

// machine writes the files of a machine and returns its root.
func machine(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func vm(keys ...string) guest.Observed {
	return observed(guest.VirtualMachine, keys)
}

func observed(kind guest.Kind, keys []string) guest.Observed {
	o := guest.Observed{Ref: guest.Ref{Kind: kind, VMID: 105}, Keys: map[string]guest.Value{}}
	for i := 0; i < len(keys); i += 2 {
		o.Keys[keys[i]] = guest.Value{Text: keys[i+1], Set: true}
	}
	return o
}

// TestMatches compares machines with guests.
func TestMatches(t *testing.T) {
	nic := "sys/class/net/eth0/address"
	const vendor, product = "sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_uuid"
	card := "virtio=BC:24:11:0A:0B:0C,bridge=vmbr0"
	tests := map[string]struct {
		files map[string]string
		guest guest.Observed
		want  bool
	}{
		"physical_machine":        {map[string]string{vendor: "Dell Inc.\n", product: uuid + "\n", nic: address + "\n"}, vm("smbios1", "uuid="+uuid, "net0", card), false},
		"nothing_can_be_read":     {nil, vm("smbios1", "uuid="+uuid), false},
		"uuid":                    {map[string]string{vendor: "QEMU\n", product: uuid + "\n"}, vm("smbios1", "uuid="+uuid), true},
		"uuid_in_capitals":        {map[string]string{vendor: "QEMU\n", product: uuid + "\n"}, vm("smbios1", "uuid=3E7C1A52-0B1F-4D7E-9F64-2B1C5A0D9E11"), true},
		"another_uuid":            {map[string]string{vendor: "QEMU\n", product: uuid + "\n", nic: address}, vm("smbios1", "uuid=00000000-0b1f-4d7e-9f64-2b1c5a0d9e11", "net0", card), false},
		"no_uuid_at_all":          {map[string]string{vendor: "QEMU\n"}, vm(), false},
		"uuid_is_roots":           {map[string]string{vendor: "QEMU\n", nic: address + "\n"}, vm("net1", "virtio=BC:24:11:00:00:01,bridge=vmbr0", "net0", card), true},
		"another_address":         {map[string]string{vendor: "QEMU\n", nic: "bc:24:11:00:00:02\n"}, vm("net0", card), false},
		"loopback_only":           {map[string]string{vendor: "QEMU\n", "sys/class/net/lo/address": "00:00:00:00:00:00\n"}, vm("net0", "virtio=00:00:00:00:00:00,bridge=vmbr0"), false},
		"container":               {map[string]string{"run/systemd/container": "lxc", nic: address}, observed(guest.Container, []string{"net0", "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:0A:0B:0C"}), true},
		"container_without_unit":  {map[string]string{"proc/1/environ": "A=1\x00container=lxc\x00", nic: address}, observed(guest.Container, []string{"net0", "name=eth0,hwaddr=" + address}), true},
		"container_of_a_machine":  {map[string]string{"run/systemd/container": "docker", nic: address}, observed(guest.Container, []string{"net0", "name=eth0,hwaddr=" + address}), false},
		"container_is_no_machine": {map[string]string{"run/systemd/container": "lxc", vendor: "QEMU", product: uuid, nic: address}, vm("smbios1", "uuid="+uuid, "net0", card), false},
		"a_large_file":            {map[string]string{vendor: "QEMU", product: uuid + string(make([]byte, 1<<20))}, vm("smbios1", "uuid="+uuid), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts := hostguest.Read(machine(t, test.files))
			if got := facts.Matches(test.guest); got != test.want {
				t.Errorf("%+v: got %t, want %t", facts, got, test.want)
			}
		})
	}
}

// TestConfiguredVMIDDecides: what the host's config states overrides what the machine shows.
func TestConfiguredVMIDDecides(t *testing.T) {
	facts := hostguest.Read(machine(t, map[string]string{"sys/class/dmi/id/sys_vendor": "QEMU", "sys/class/dmi/id/product_uuid": uuid}))
	facts.VMID = 300
	if facts.Matches(vm("smbios1", "uuid="+uuid)) || !facts.Matches(guest.Observed{Ref: guest.Ref{VMID: 300}}) || !facts.Known() {
		t.Errorf("got another guest than 300 of %+v", facts)
	}
}
