package guest

import (
	"fmt"
	"testing"
)

// recordedKeys are those of a guest as Proxmox reads it back, quirks included.
func recordedKeys() keys {
	return keys{
		"agent": "1,fstrim_cloned_disks=1", "boot": "order=scsi0;net0", "cores": "2", "cpu": "cputype=x86-64-v2-AES", "ciuser": "ops",
		"description": "front end\n", "hotplug": "disk,network,usb", "ide2": "local-lvm:vm-201-cloudinit,media=cdrom,size=4M",
		"ipconfig0": "gw=10.0.20.1,ip=10.0.20.11/24", "memory": "2048", "meta": "creation-qemu=10.0.13,ctime=1795212031", "name": "web-1",
		"nameserver": "10.0.20.1", "net0": "virtio=BC:24:11:53:8A:55,bridge=vmbr0,firewall=1,tag=20", "numa": "0", "onboot": "1", "ostype": "l26",
		"protection": "0", "scsi0": "local-lvm:vm-201-disk-0,discard=on,iothread=1,size=32G,ssd=1",
		"scsi1":   "local-lvm:vm-201-disk-1,discard=on,size=100G",
		"scsihw":  "virtio-scsi-single",
		"smbios1": "uuid=6acf6386-a76e-4424-af4c-c0eec3a2be95", "sockets": "1", "startup": "up=30,order=2",
		"sshkeys": "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIHQ7C0mHBc3v1Q3Wm5x1a1Yy8y5F0kqH3qJb1kq9d0aa%20ops%40lan%0A",
		"tags":    "gitops-0123abcd;prod;web", "vga": "std", "vmgenid": "ca7e16c8-8a1c-4cab-b020-3f7d091d988e",
	}
}

// settledGuest is a manifest and a live guest that agree, as most do in most cycles.
func settledGuest() (Desired, Observed) {
	o := running(recordedKeys())
	d := want(o, text("name", "web-1"), text("cores", "2"), subs("cpu", "cputype=x86-64-v2-AES"), text("memory", "2048"), text("description", "front end"),
		subs("agent", "enabled=1", "fstrim_cloned_disks=1"), text("ostype", "l26"), text("scsihw", "virtio-scsi-single"), text("tags", "web;prod"),
		subs("net0", "bridge=vmbr0", "model=virtio", "tag=20", "firewall=1"), subs("scsi0", "storage=local-lvm", "size=32G", "discard=on", "ssd=1"),
		subs("scsi1", "storage=local-lvm", "size=100G", "discard=on"), subs("ide2", "storage=local-lvm", "volume=cloudinit"), text("ciuser", "ops"),
		text("sshkeys", "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIHQ7C0mHBc3v1Q3Wm5x1a1Yy8y5F0kqH3qJb1kq9d0aa%20ops%40lan%0A"),
		subs("ipconfig0", "ip=10.0.20.11/24", "gw=10.0.20.1"), text("nameserver", "10.0.20.1"), subs("boot", "order=scsi0;net0"), text("onboot", "1"),
		subs("startup", "order=2", "up=30"))
	d.Marker = "gitops-0123abcd"
	return d, o
}

// BenchmarkDiffInSync is the share of NewPlan that every guest takes in every cycle.
func BenchmarkDiffInSync(b *testing.B) {
	d, o := settledGuest()
	if got := Diff(d, o); len(got) != 0 {
		b.Fatalf("changes: got %v, want none", briefs(got))
	}
	b.ReportAllocs()
	for b.Loop() {
		Diff(d, o)
	}
}

// BenchmarkDiffDrifted is a guest with a drifted scalar, card and disk.
func BenchmarkDiffDrifted(b *testing.B) {
	d, o := settledGuest()
	drift := keys{"cores": "4", "net0": "virtio=BC:24:11:53:8A:55,bridge=vmbr1", "scsi0": "local-lvm:vm-201-disk-0,size=20G"}
	for key, text := range drift {
		o.Keys[key] = Value{Text: text, Set: true}
	}
	if got := Diff(d, o); len(got) != 4 {
		b.Fatalf("changes: got %v, want four", briefs(got))
	}
	b.ReportAllocs()
	for b.Loop() {
		Diff(d, o)
	}
}

// BenchmarkDiffFleet is 10,000 guests, one in a hundred of them drifted.
func BenchmarkDiffFleet(b *testing.B) {
	const guests = 10000
	type both struct {
		d Desired
		o Observed
	}
	fleet := make([]both, guests)
	for i := range fleet {
		fleet[i].d, fleet[i].o = settledGuest()
		if i%100 == 0 {
			fleet[i].o.Keys["cores"] = Value{Text: fmt.Sprint(i), Set: true}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range fleet {
			Diff(fleet[i].d, fleet[i].o)
		}
	}
}

// BenchmarkCanonicalGuest parses and canonicalises every key of one recorded guest.
func BenchmarkCanonicalGuest(b *testing.B) {
	recorded := recordedKeys()
	b.ReportAllocs()
	for b.Loop() {
		for key, text := range recorded {
			Canonical(VirtualMachine, key, text)
		}
	}
}
