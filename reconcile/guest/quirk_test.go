package guest

import "testing"

// Each test is named for one way in which what Proxmox gives back differs from what it was given.

// holds checks that a guest which reads back as text needs nothing to be as the intent wants it.
func holds(t *testing.T, kind Kind, in Intent, text string) {
	t.Helper()
	o := live(keys{in.Key: text})
	o.Kind = kind
	if got := Diff(want(o, in), o); len(got) != 0 {
		t.Errorf("%s %q: got %v, want no change", in.Key, text, briefs(got))
	}
}

func TestQuirkEmptyValueIsDeletedNotWritten(t *testing.T) {
	o := live(keys{"sshkeys": "ssh-ed25519%20AAAA"})
	got := Diff(want(o, text("sshkeys", "")), o)
	if len(got) != 1 || got[0].Write != WriteDelete {
		t.Errorf("changes: got %v, want a delete, since an empty sshkeys keeps the old ones", briefs(got))
	}
}

func TestQuirkDescriptionLosesTrailingSpace(t *testing.T) {
	holds(t, VirtualMachine, text("description", "two trailing\n\n"), "two trailing")
	holds(t, VirtualMachine, text("description", "  a  "), "  a")
}

func TestQuirkContainerDescriptionGainsNewline(t *testing.T) {
	holds(t, Container, text("description", "x"), "x\n")
	holds(t, Container, text("description", "line1\nline2"), "line1\nline2\n")
}

func TestQuirkDescriptionLineEndsAreOne(t *testing.T) {
	holds(t, VirtualMachine, text("description", "a\nb"), "a\r\nb")
}

func TestQuirkCardIsPrintedAgainWithMAC(t *testing.T) {
	const printed = "virtio=BC:24:11:C4:03:21,bridge=vmbr0,firewall=1"
	holds(t, VirtualMachine, text("net0", "virtio,bridge=vmbr0,firewall=1"), printed)
	holds(t, VirtualMachine, text("net0", "model=virtio,macaddr=bc:24:11:c4:03:21,bridge=vmbr0,firewall=yes,"), printed)
	holds(t, VirtualMachine, text("net0", "virtio,bridge=vmbr0,tag=10,firewall=0"), "virtio=BC:24:11:C4:03:21,bridge=vmbr0,firewall=0,tag=10")
}

func TestQuirkMACKeepsItsCase(t *testing.T) {
	holds(t, VirtualMachine, subs("net0", "macaddr=AA:BB:CC:DD:EE:FF"), "virtio=aa:bb:cc:dd:ee:ff,bridge=vmbr0")
}

func TestQuirkContainerCardGainsAddressAndType(t *testing.T) {
	holds(t, Container, text("net0", "name=eth0,bridge=vmbr0"), "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:7B:8E:E5,type=veth")
	holds(t, Container, text("net0", "name=eth0,bridge=vmbr0"), "name=eth0,bridge=vmbr0") // as it reads while it waits
}

func TestQuirkDiskGainsVolumeAndTrueSize(t *testing.T) {
	holds(t, VirtualMachine, subs("scsi1", "storage=local", "size=1G", "format=qcow2", "discard=on", "iothread=1"), "local:101/vm-101-disk-1.qcow2,discard=on,iothread=1,size=1G")
	holds(t, VirtualMachine, subs("scsi3", "storage=local", "size=0.5G"), "local:101/vm-101-disk-6.raw,size=512M")
	holds(t, VirtualMachine, subs("scsi0", "size=5120001K"), "local:130/vm-130-disk-0.raw,size=5120001K")
}

func TestQuirkISOGainsSize(t *testing.T) {
	holds(t, VirtualMachine, subs("ide2", "volume=local:iso/tiny.iso", "media=cdrom"), "local:iso/tiny.iso,media=cdrom,size=17M")
	holds(t, VirtualMachine, text("ide3", "cdrom"), "cdrom,media=cdrom")
}

func TestQuirkCloudInitDriveGainsMediaAndSize(t *testing.T) {
	in := subs("ide2", "storage=local", "volume=cloudinit")
	holds(t, VirtualMachine, in, "local:101/vm-101-cloudinit.qcow2,media=cdrom")
	holds(t, VirtualMachine, in, "local:131/vm-131-cloudinit.qcow2,media=cdrom,size=4M")
}

func TestQuirkFirmwareVolumesHaveTheirOwnSizes(t *testing.T) {
	holds(t, VirtualMachine, subs("efidisk0", "storage=local", "size=1G", "efitype=4m", "pre-enrolled-keys=1"), "local:510/vm-510-disk-0.raw,efitype=4m,pre-enrolled-keys=1,size=528K")
	holds(t, VirtualMachine, subs("tpmstate0", "storage=local", "size=1G", "version=v2.0"), "local:510/vm-510-disk-1.raw,size=4M,version=v2.0")
}

func TestQuirkPublicKeysStayAsTheyWereEncoded(t *testing.T) {
	const sent = "ssh-ed25519%20AAAAC3%2Fdc%2B%20a%40b%0Assh-rsa%20AAAAB3%3D%3D%20c"
	holds(t, VirtualMachine, text("sshkeys", sent), sent+"%0A")
	holds(t, VirtualMachine, text("sshkeys", sent), "ssh-rsa%20AAAAB3%3d%3d%20c%0Assh-ed25519%20AAAAC3%2fdc%2b%20a%40b")
	holds(t, VirtualMachine, text("sshkeys", sent), "%0A%23%20ops%0A"+sent+"%0A%0A")
}

func TestQuirkContainerNameserversAreJoinedByBlanks(t *testing.T) {
	holds(t, Container, text("nameserver", "1.1.1.1,8.8.8.8"), "1.1.1.1 8.8.8.8")
	holds(t, VirtualMachine, text("nameserver", "1.1.1.1 8.8.8.8"), "1.1.1.1;8.8.8.8")
}

func TestQuirkSpellingsAreKeptAsTyped(t *testing.T) {
	tests := []struct{ key, a, b string }{
		{"agent", "1", "enabled=1"},
		{"cpu", "host", "cputype=host"},
		{"cpu", "host,flags=+aes;-pcid", "flags=-pcid;+aes,cputype=host"},
		{"memory", "1024", "current=1024"},
		{"startup", "1", "order=1"},
		{"startup", "order=1,up=30", "up=30,order=1"},
		{"machine", "q35", "type=q35"},
		{"vga", "qxl,memory=32", "memory=32,type=qxl"},
		{"smbios1", "uuid=AAAAAAAA-2222-3333-4444-555555555555", "uuid=aaaaaaaa-2222-3333-4444-555555555555"},
		{"ipconfig0", "ip=10.0.0.5/24,gw=10.0.0.1", "gw=10.0.0.1,ip=10.0.0.5/24"},
		{"watchdog", "i6300esb,action=reset", "model=i6300esb"},
		{"rng0", "/dev/urandom,max_bytes=1024,period=1000", "source=/dev/urandom"},
		{"numa0", "cpus=0;2,memory=512", "memory=512.0,cpus=2;0"},
		{"hotplug", "1", "usb,network,disk"},
		{"cicustom", "vendor=local:snippets/v.yaml,user=local:snippets/u.yaml", "user=local:snippets/u.yaml,vendor=local:snippets/v.yaml"},
	}
	for _, test := range tests {
		holds(t, VirtualMachine, text(test.key, test.a), test.b)
		holds(t, VirtualMachine, text(test.key, test.b), test.a)
	}
	holds(t, Container, text("features", "keyctl=1,nesting=1"), "nesting=1,fuse=0,keyctl=1")
}

func TestQuirkMemoryIsTextAndNumber(t *testing.T) {
	holds(t, VirtualMachine, text("memory", "4096"), "4096")
	holds(t, Container, text("memory", "4096"), "4096")
}

func TestQuirkCloneKeepsItsOwnIdentity(t *testing.T) {
	o := live(keys{
		"net0": "virtio=BC:24:11:53:8A:55,bridge=vmbr0", "smbios1": "uuid=6acf6386-a76e-4424-af4c-c0eec3a2be95",
		"vmgenid": "ca7e16c8-8a1c-4cab-b020-3f7d091d988e", "meta": "creation-qemu=10.0.13,ctime=1795212031",
	})
	if got := Diff(want(o, text("net0", "virtio,bridge=vmbr0"), subs("smbios1", "base64=0")), o); len(got) != 0 {
		t.Errorf("changes: got %v, want none", briefs(got))
	}
}

func TestQuirkUnusedVolumesAppearUnasked(t *testing.T) {
	o := live(keys{"scsi0": "local:201/vm-201-disk-1.raw,size=1G", "unused0": "local:201/vm-201-disk-0.raw"})
	if got := Diff(want(o, subs("scsi0", "storage=local")), o); len(got) != 0 {
		t.Errorf("changes: got %v, want none", briefs(got))
	}
}

func TestQuirkWindowsPinsItsMachine(t *testing.T) {
	o := running(keys{"ostype": "l26 ? win10", "machine": "? pc-i440fx-10.0+pve1"})
	got := Diff(want(o, text("ostype", "win10"), subs("machine", "type=pc")), o)
	if len(got) != 1 || !got[0].Waits || got[0].Key != "ostype" {
		t.Errorf("changes: got %v, want only the system type waiting", briefs(got))
	}
}

func TestQuirkSchedulerClampsWeights(t *testing.T) {
	holds(t, VirtualMachine, text("cpuunits", "262144"), "10000")
	o := live(nil)
	if got := Diff(want(o, text("cpuunits", "262144")), o); len(got) != 1 || got[0].Value != "262144" {
		t.Errorf("changes: got %v, want the weight sent as asked", briefs(got))
	}
}
