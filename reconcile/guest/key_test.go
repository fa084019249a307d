package guest

import (
	"errors"
	"strings"
	"testing"
)

func TestCheckAccepts(t *testing.T) {
	tests := []struct {
		kind      Kind
		key, text string
	}{
		{VirtualMachine, "cores", "4"},
		{VirtualMachine, "onboot", "1"},
		{VirtualMachine, "cpulimit", "1.5"},
		{VirtualMachine, "ostype", "l26"},
		{VirtualMachine, "name", "web-1.example.com"},
		{VirtualMachine, "name", "1abc"},
		{VirtualMachine, "tags", "web;prod_x,env-1 a.b"},
		{VirtualMachine, "net31", "virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=4094"},
		{VirtualMachine, "net0", "e1000,bridge=vmbr0,firewall=yes"},
		{VirtualMachine, "scsi30", "local-lvm:vm-100-disk-0,size=32G,discard=on"},
		{VirtualMachine, "ide2", "none,media=cdrom"},
		{VirtualMachine, "agent", "enabled=1,fstrim_cloned_disks=1"},
		{VirtualMachine, "ipconfig0", "ip=10.0.0.5/24,gw=10.0.0.1,ip6=auto"},
		{VirtualMachine, "sshkeys", "ssh-ed25519%20AAAA%2Fx%0A"},
		{VirtualMachine, "machine", "pc-q35-9.2+pve1"},
		{VirtualMachine, "machine", "type=q35,viommu=virtio"},
		{VirtualMachine, "machine", "virt"},
		{VirtualMachine, "hotplug", "1"},
		{VirtualMachine, "hotplug", "network,disk"},
		{VirtualMachine, "boot", "order=scsi0;net0"},
		{VirtualMachine, "smbios1", "uuid=11111111-2222-3333-4444-555555555555,manufacturer=Rm9v,base64=1"},
		{VirtualMachine, "startup", "order=1,up=30,down=60"},
		{VirtualMachine, "nameserver", "notanip"},
		{VirtualMachine, "serial0", "socket"},
		{VirtualMachine, "cpuunits", "262144"},
		{VirtualMachine, "description", strings.Repeat("ü", 8192)},
		{Container, "rootfs", "local:401/vm-401-disk-0.raw,mountoptions=noatime;nodev"},
		{Container, "mp0", "/srv,mp=/srv"},
		{Container, "net0", "name=eth0,bridge=vmbr0,ip=dhcp,ip6=manual"},
		{Container, "nameserver", "1.1.1.1,fe80::1%eth0"},
		{Container, "features", "nesting=1,mount=nfs;cifs"},
		{Container, "memory", "16"},
	}
	for _, test := range tests {
		if err := Check(test.kind, test.key, test.text); err != nil {
			t.Errorf("check %s %q: got %v, want no error", test.key, test.text, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	tests := []struct {
		kind            Kind
		key, text, want string
	}{
		{VirtualMachine, "cores", "0", "got 0, want at least 1"},
		{VirtualMachine, "cores", "two", "want a whole number"},
		{VirtualMachine, "cpulimit", "129", "got 129, want at most 128"},
		{VirtualMachine, "cpulimit", "1e2", "want a number"},
		{VirtualMachine, "cpuunits", "262145", "want at most 262144"},
		{VirtualMachine, "onboot", "yes", "want 0 or 1"},
		{VirtualMachine, "ostype", "bogus", "want one of other, wxp"},
		{VirtualMachine, "name", "under_score", "want a DNS name"},
		{VirtualMachine, "name", "-x", "want a DNS name"},
		{VirtualMachine, "name", "", "want a DNS name"},
		{VirtualMachine, "tags", "a:b", `got tag "a:b"`},
		{VirtualMachine, "tags", "ok;-x", `got tag "-x"`},
		{VirtualMachine, "tags", "ä", "got tag"},
		{VirtualMachine, "description", strings.Repeat("ü", 8193), "got 8193 characters, want at most 8192"},
		{VirtualMachine, "net0", "bridge=vmbr0", "got no model"},
		{VirtualMachine, "net0", "virtio,bridge=vmbr0,tag=0", "tag: got 0, want at least 1"},
		{VirtualMachine, "net0", "virtio=01:00:00:00:00:01", "unicast"},
		{VirtualMachine, "net0", "virtio=BC2411000001", "MAC address"},
		{VirtualMachine, "net0", "virtio, bridge=vmbr0", `unknown sub-key " bridge"`},
		{VirtualMachine, "net0", "virtio,tag=1,tag=2", "got tag twice"},
		{VirtualMachine, "scsi0", "local-lvm:32", "storage and size"},
		{VirtualMachine, "scsi0", "8", "storage and size"},
		{VirtualMachine, "ide2", "local:cloudinit", "storage and size"},
		{VirtualMachine, "scsi0", "discard=on", "got no volume"},
		{VirtualMachine, "scsi0", "local:vm-1-disk-0,foo=bar", "unknown sub-key"},
		{VirtualMachine, "scsi0", "nonsense", "want a volume"},
		{VirtualMachine, "virtio1", "local:vm-1-disk-0,ssd=1", "unknown sub-key"},
		{VirtualMachine, "ipconfig0", "ip=10.0.0.5", "prefix length"},
		{VirtualMachine, "ipconfig0", "gw=10.0.0.1", "got gw without ip"},
		{VirtualMachine, "scsi0", "local:vm-100-disk-0,mbps=10,mbps_rd=5", "got mbps_rd and mbps, want one of them"},
		{VirtualMachine, "scsi0", "local:vm-100-disk-0,mbps_max=10", "got mbps_max without mbps, want both"},
		{VirtualMachine, "ipconfig0", "ip=10.0.0.5/24,gw=10.0.0", "want an IP address"},
		{VirtualMachine, "sshkeys", "ssh-ed25519 AAAA", "unencoded"},
		{VirtualMachine, "sshkeys", "ssh-ed25519%20AAAA/x", "unencoded"},
		{VirtualMachine, "sshkeys", "ssh%2", "decode"},
		{VirtualMachine, "machine", "bogus", "want a machine type"},
		{VirtualMachine, "machine", "pc-q35", "want a machine type"},
		{VirtualMachine, "memory", "8", "current: got 8, want at least 16"},
		{VirtualMachine, "hotplug", "network,wings", `got "wings"`},
		{VirtualMachine, "startup", "order=any", "want a whole number"},
		{VirtualMachine, "agent", "fstrim_cloned_disks=1", "got no enabled"},
		{VirtualMachine, "smbios1", "uuid=1", "want a UUID"},
		{VirtualMachine, "serial0", "bogus", "want socket"},
		{VirtualMachine, "meta", "x", "only Proxmox writes it"},
		{Container, "nameserver", "bad", "want an IP address"},
		{Container, "rootfs", "local:2", "storage and size"},
		{Container, "mp0", "local:401/vm-401-disk-1.raw", "got no mp"},
		{Container, "features", "nesting", "want name=value"},
		{Container, "tty", "7", "want at most 6"},
	}
	for _, test := range tests {
		if err := Check(test.kind, test.key, test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("check %s %q: got %v, want an error with %q", test.key, test.text, err, test.want)
		}
	}
}

func TestUnknownKeys(t *testing.T) {
	for _, key := range []string{"future", "net32", "scsi31", "net", "net00", "memory0", "hostname"} {
		if err := Check(VirtualMachine, key, "1"); !errors.Is(err, ErrUnknownKey) {
			t.Errorf("check %s: got %v, want ErrUnknownKey", key, err)
		}
		if got, known := Canonical(VirtualMachine, key, " as,it is "); known || got != " as,it is " {
			t.Errorf("canonical %s: got %q, %t, want the text as it is, unknown", key, got, known)
		}
	}
}

func TestCanonical(t *testing.T) {
	tests := []struct {
		kind            Kind
		key, text, want string
	}{
		{VirtualMachine, "onboot", "yes", "1"},
		{VirtualMachine, "cores", "04", "4"},
		{VirtualMachine, "cpulimit", "1.50", "1.5"},
		{VirtualMachine, "ciuser", " ", ""},
		{VirtualMachine, "tags", "B a", "a;b"},
		{VirtualMachine, "net0", "model=virtio,macaddr=aa:bb:cc:dd:ee:ff,firewall=0,tag=5,bridge=vmbr0", "virtio=AA:BB:CC:DD:EE:FF,bridge=vmbr0,tag=5"},
		{VirtualMachine, "scsi0", "discard=on,cache=none,size=4608M,file=local:100/vm-100-disk-0.raw", "local:100/vm-100-disk-0.raw,discard=on,size=4608M"},
		{VirtualMachine, "scsi0", "local:vm-100-disk-0,bps=11010048", "local:vm-100-disk-0,mbps=10.5"},
		{VirtualMachine, "scsi0", "local:vm-100-disk-0,iops_rd_length=3", "local:vm-100-disk-0,iops_rd_max_length=3"},
		{VirtualMachine, "agent", "enabled=0,type=isa", "0"},
		{VirtualMachine, "agent", "guest-fsfreeze=0,enabled=on", "1,freeze-fs-on-backup=0"},
		{VirtualMachine, "vga", "memory=32", "std,memory=32"},
		{VirtualMachine, "memory", "current=1024", "1024"},
		{VirtualMachine, "startup", "up=30,2", "order=2,up=30"},
		{VirtualMachine, "hotplug", "1", "disk,network,usb"},
		{VirtualMachine, "hotplug", "0", "0"},
		{VirtualMachine, "cipassword", "s3cret", "**********"},
		{VirtualMachine, "future-proof", "x", "x"},
		{VirtualMachine, "ipconfig0", "ip6=FD00:0::5/64,ip=dhcp", "ip=dhcp,ip6=fd00::5/64"},
		{Container, "net0", "type=veth,hwaddr=bc:24:11:00:00:01,bridge=vmbr0,name=eth0", "bridge=vmbr0,hwaddr=BC:24:11:00:00:01,name=eth0"},
		{Container, "features", "keyctl=0", ""},
		{Container, "description", "x\r\ny \n", "x\ny"},
		{Container, "nameserver", "1.1.1.1,FE80::1", "1.1.1.1 fe80::1"},
	}
	for _, test := range tests {
		if got, _ := Canonical(test.kind, test.key, test.text); got != test.want {
			t.Errorf("canonical %s %q: got %q, want %q", test.key, test.text, got, test.want)
		}
	}
}

func TestRootOnly(t *testing.T) {
	for _, key := range []string{"args", "hookscript", "affinity", "vmgenid", "arch", "ivshmem", "spice_enhancements", "hugepages", "keephugepages", "amd-sev", "intel-tdx", "parallel0", "lock"} {
		if !RootOnly(VirtualMachine, key) || Privilege(VirtualMachine, key) != "" {
			t.Errorf("%s: got a key that a token may write, want root's alone", key)
		}
	}
	for _, key := range []string{"hookscript", "dev0"} {
		if !RootOnly(Container, key) {
			t.Errorf("%s of a container: got a key that a token may write, want root's alone", key)
		}
	}
	for _, key := range []string{"cores", "arch", "net0", "future"} {
		if RootOnly(Container, key) {
			t.Errorf("%s of a container: got root's alone, want a key that a token may write", key)
		}
	}
}

func TestEveryWritableKeyNamesItsPrivilege(t *testing.T) {
	for kind, table := range map[Kind]table{VirtualMachine: virtualMachineTable, Container: containerTable} {
		for key, r := range table {
			fixed := r.rootOnly || r.effect == never || r.effect == atCreate
			if got := Privilege(kind, key); fixed != (got == "") {
				t.Errorf("privilege of %s %s: got %q, want one exactly where a token may write the key", kind, key, got)
			}
		}
	}
}

// TestWrittenPrint compares what a call writes with what Proxmox shows of it, and with what a person wrote instead.
func TestWrittenPrint(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind                       Kind
		key, written, reads, other string
	}{
		{VirtualMachine, "net0", "virtio,bridge=vmbr1", "virtio=BC:24:11:4D:0D:D3,bridge=vmbr1", "virtio=BC:24:11:4D:0D:D3,bridge=vmbr2"},
		{VirtualMachine, "net0", "bridge=vmbr1,model=virtio,firewall=on", "virtio=BC:24:11:4D:0D:D3,bridge=vmbr1,firewall=1", "virtio=BC:24:11:4D:0D:D3,bridge=vmbr1"},
		{VirtualMachine, "scsi0", "local:201/vm-201-disk-0.qcow2,discard=on", "local:201/vm-201-disk-0.qcow2,discard=on,size=3G", "local:201/vm-201-disk-0.qcow2,size=3G"},
		{VirtualMachine, "tags", "web,db", "db;web", "db"},
		{VirtualMachine, "memory", "2048", "2048", "4096"},
		{VirtualMachine, "boot", "order=scsi0;net0", "order=scsi0;net0", "order=net0"},
		{VirtualMachine, "agent", "enabled=1,fstrim_cloned_disks=1", "1,fstrim_cloned_disks=1", "1"},
		{Container, "net0", "name=eth0,bridge=vmbr1", "name=eth0,bridge=vmbr1,hwaddr=BC:24:11:4D:0D:D3,type=veth", "name=eth0,bridge=vmbr2,hwaddr=BC:24:11:4D:0D:D3,type=veth"},
		{Container, "memory", "512", "512", ""},
	} {
		written := WrittenPrint(test.kind, test.key, test.written)
		if got := WrittenPrint(test.kind, test.key, test.reads); got != written {
			t.Errorf("%s: got another value of %q than of %q", test.key, test.reads, test.written)
		}
		if got := WrittenPrint(test.kind, test.key, test.other); got == written {
			t.Errorf("%s: got the same value of %q and %q", test.key, test.other, test.written)
		}
	}
}
