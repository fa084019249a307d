package manifest_test

import (
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"gitops-agent/reconcile/guest"
)

// liveTexts are texts that keys of a live guest may have, by key, as Proxmox stores them. Every field of a manifest has its native key
// here, see TestEveryFieldCanBeRaised; a new one may need a line.
type liveTexts map[string][]string

const (
	someKey  = "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIHQ7C0mHBc3v1Q3Wm5x1a1Yy8y5F0kqH3qJb1kq9d0aa%20me%40host"
	otherKey = "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)

// commonTexts are those of both kinds.
var commonTexts = liveTexts{
	"description": {"50%", "two\nlines", " led by blanks", "a\n\n# heading\n", "tab\there", "null", "ü: {not: yaml}"},
	"tags":        {"web", "a;b;c", "gitops-0123abcd;x", "1"},
	"onboot":      {"0", "1"},
	"protection":  {"0", "1"},
	"startup":     {"1", "order=2,up=30", "up=90,down=7200"},
	"cores":       {"1", "4"},
	"cpulimit":    {"0", "2", "0.5"},
	"cpuunits":    {"100", "2048"},
}

var machineTexts = liveTexts{
	"name": {"erp", "web-1.example.org", "123"}, "sockets": {"1", "2"}, "vcpus": {"1"}, "numa": {"0", "1"},
	"cpu":       {"host", "cputype=x86-64-v2-AES,flags=+aes;-pcid", "host,hidden=1", "kvm64", "host,flags=+aes,hv-vendor-id=acme,level=30,phys-bits=host,reported-model=Broadwell"},
	"memory":    {"512", "4096", "1000", "current=1024"},
	"balloon":   {"0", "256"},
	"shares":    {"0", "2000"},
	"allow-ksm": {"0"},
	"agent":     {"0", "1", "1,fstrim_cloned_disks=1,type=isa", "enabled=1,freeze-fs-on-backup=0", "1,guest-fsfreeze=0"},
	"ostype":    {"l26", "win11"}, "scsihw": {"virtio-scsi-single", "lsi"}, "bios": {"seabios", "ovmf"},
	"machine":   {"q35", "pc-q35-9.2+pve1", "type=q35,viommu=intel"},
	"vga":       {"std", "virtio,memory=64", "type=std,clipboard=vnc", "serial0"},
	"tablet":    {"0", "1"},
	"hotplug":   {"0", "1", "disk,network,usb", "network,cloudinit"},
	"boot":      {"order=scsi0;net0", "order=net0", "c"},
	"bootdisk":  {"scsi0"},
	"keyboard":  {"de"},
	"acpi":      {"1"},
	"startdate": {"2006-06-17T16:01:21"},
	"args":      {"-no-reboot"},
	"citype":    {"nocloud"}, "ciuser": {"deploy", "true"}, "ciupgrade": {"0", "1"}, "cipassword": {"**********"},
	"cicustom":   {"user=local:snippets/web.yaml", "user=local:snippets/u.yaml,network=local:snippets/n.yaml,vendor=local:snippets/v.yaml,meta=local:snippets/m.yaml"},
	"sshkeys":    {someKey, someKey + "%0A" + otherKey + "%0A", "from%3D%2210.0.0.1%22%20" + otherKey},
	"nameserver": {"1.1.1.1", "1.1.1.1 fd00::1", "1.1.1.1,8.8.8.8"}, "searchdomain": {"example.org", "a.example b.example"},
	"ipconfig0": {"ip=dhcp", "ip=10.0.0.5/24,gw=10.0.0.1", "ip6=auto", "ip=10.0.0.5/24,ip6=fd00::5/64,gw6=fd00::1"},
	"ipconfig1": {"ip=dhcp,ip6=dhcp"},
	"net0":      {"virtio=BC:24:11:00:00:AA,bridge=vmbr0", "e1000=bc:24:11:00:00:ab,bridge=vmbr1,firewall=1,tag=5", "virtio=BC:24:11:00:00:AC,bridge=vmbr0,firewall=0,link_down=1,mtu=1,queues=4,rate=12.5"},
	"net10":     {"virtio=BC:24:11:00:00:AD,bridge=vmbr0,trunks=5;7", "virtio=BC:24:11:00:00:AD,bridge=vmbr0,host-tunnel=1,tag=3,trunks=5;7-9"},
	"scsi0":     {"local-lvm:vm-105-disk-0,size=32G", "local-lvm:vm-105-disk-0,discard=on,iothread=1,size=4M,ssd=1", "local:105/vm-105-disk-0.qcow2,cache=writeback,size=5120001K"},
	"scsi1": {
		"local-lvm:vm-105-disk-1,aio=native,backup=0,replicate=0,ro=1,serial=ABC,size=1G", "local-lvm:vm-105-disk-1,mbps_rd=10.5,mbps_wr=20,iops_rd=100,iops_wr=200,size=1G", "local-lvm:vm-105-disk-1,mbps=10.5,iops=100,size=1G", "local-lvm:vm-105-disk-1,detect_zeroes=0,wwn=0x5000c500a1b2c3d4,size=1G",
		"local-lvm:vm-105-disk-1,bps_max_length=5,iops_max=100,mbps=10,mbps_max=20,product=Disk,queues=4,rerror=stop,scsiblock=0,shared=1,size=1G,snapshot=1,vendor=Acme,werror=enospc",
		"local-lvm:vm-105-disk-1,backup=0,size=1G,werror=report",
	},
	"scsi2":     {"/dev/disk/by-id/ata-x,size=1G"},
	"virtio2":   {"local-lvm:vm-105-disk-2,size=1T", "local-lvm:vm-105-disk-2,discard=on,rerror=ignore,size=1T"},
	"sata0":     {"local-lvm:vm-105-disk-3,size=1G,ssd=1", "local-lvm:vm-105-disk-3,size=1G,werror=stop,wwn=0x5000c500a1b2c3d5"},
	"ide2":      {"none,media=cdrom", "local:iso/tiny.iso,media=cdrom,size=17M", "local-lvm:vm-105-cloudinit,media=cdrom,size=4M", "cdrom,media=cdrom", "none,aio=threads,backup=0,media=cdrom,model=Reader%201,werror=report", "local-lvm:vm-105-cloudinit,media=cdrom,size=4M,werror=report"},
	"ide3":      {"none,media=cdrom", "local-lvm:vm-105-cloudinit,media=cdrom,size=4M"},
	"efidisk0":  {"local-lvm:vm-105-disk-4,efitype=4m,pre-enrolled-keys=1,size=4M", "local-lvm:vm-105-disk-4,size=528K"},
	"tpmstate0": {"local-lvm:vm-105-disk-5,size=4M,version=v2.0"},
	"serial0":   {"socket", "/dev/ttyS0"},
	"usb0":      {"mapping=stick,usb3=1", "host=1234:5678", "spice"},
	"hostpci0":  {"mapping=gpu,pcie=1", "mapping=gpu,pcie=1,x-vga=1,rombar=0", "mapping=gpu,mdev=nvidia-63", "mapping=gpu,device-id=0x1234,driver=keep,legacy-igd=1,romfile=vbios.bin", "0000:01:00.0"},
	"virtiofs0": {"share", "dirid=share,cache=never,direct-io=1,expose-acl=1", "share,expose-xattr=1"},
	"rng0":      {"source=/dev/urandom", "/dev/hwrng,max_bytes=512,period=2000"},
	"audio0":    {"device=AC97,driver=none"},
	"watchdog":  {"model=i6300esb,action=reset", "ib700"},
	"smbios1": {
		"uuid=de0a1108-0b75-45b8-8c5c-031b061ab62c", "uuid=de0a1108-0b75-45b8-8c5c-031b061ab62c,manufacturer=Foo,product=Box,version=1,serial=S1,sku=SK,family=Fam",
		"base64=1,uuid=de0a1108-0b75-45b8-8c5c-031b061ab62c,manufacturer=QWNtZSBJbmMu,product=Qm94,version=MQ==,serial=UzE=,sku=U0tV,family=RmFt",
	},
	"numa0": {"cpus=0-1,memory=512"}, "vmgenid": {"0d2c5e3c-7e4d-4d0b-8f7e-6c9c2f5b8a11"}, "meta": {"creation-qemu=10.0.2,ctime=1700000000"},
	"unused0": {"local-lvm:vm-105-disk-9"}, "parent": {"before"}, "future-key": {"b,a=1"}, "hookscript": {"local:snippets/hook.pl"},
}

var containerTexts = liveTexts{
	"hostname": {"dns-1", "CT105"}, "memory": {"512", "2048"}, "swap": {"0", "512"}, "unprivileged": {"1"},
	"arch": {"amd64"}, "ostype": {"debian"}, "cmode": {"shell"}, "console": {"0"}, "tty": {"1"}, "timezone": {"host", "Europe/Berlin"},
	"features":   {"nesting=1", "nesting=1,keyctl=1", "force_rw_sys=1,fuse=1,nesting=1", "fuse=1,mknod=1,mount=nfs;cifs"},
	"nameserver": {"1.1.1.1", "1.1.1.1 8.8.8.8"}, "searchdomain": {"example.org"},
	"net0":   {"name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:AA,ip=dhcp,type=veth", "name=eth0,bridge=vmbr1,firewall=1,gw=10.0.0.1,gw6=fd00::1,hwaddr=BC:24:11:00:00:AB,ip=10.0.0.5/24,ip6=fd00::5/64,link_down=1,mtu=1400,rate=5,tag=7,type=veth"},
	"net1":   {"name=eth1,bridge=vmbr0,hwaddr=BC:24:11:00:00:AC,ip6=auto,trunks=5;7,type=veth", "name=eth1,bridge=vmbr0,host-managed=1,hwaddr=BC:24:11:00:00:AC,ip=manual,type=veth"},
	"rootfs": {"local-lvm:vm-105-disk-0,size=8G", "local-lvm:vm-105-disk-0,mountoptions=noatime;nodev,quota=0,replicate=0,size=4G", "local:105/vm-105-disk-0.raw,acl=1,size=4G", "local:105/vm-105-disk-0.raw,acl=0,quota=1,ro=1,shared=1,size=4G"},
	"mp0":    {"local-lvm:vm-105-disk-1,mp=/data,size=1G", "local-lvm:vm-105-disk-1,mp=/srv,backup=1,mountoptions=noatime,quota=1,replicate=0,ro=1,size=2G"},
	"mp1":    {"/srv/data,mp=/data", "local-lvm:vm-105-disk-2,mp=/x,shared=1,size=1G", "local-lvm:vm-105-disk-2,acl=1,keepattrs=1,mp=/my data,size=1G"},
	"dev0":   {"path=/dev/fuse"}, "entrypoint": {"/usr/bin/app --serve"}, "env": {"A=1\x00PASSWORD=x", "EMPTY=\x00PATH=/bin:/usr/bin, and more=x"},
	"lxc": {"[[lxc.apparmor.profile unconfined]]"}, "debug": {"1"}, "unused0": {"local-lvm:vm-105-disk-9"}, "future-key": {"x"},
}

// textsOf returns the texts of a kind.
func textsOf(kind guest.Kind) liveTexts {
	out := maps.Clone(commonTexts)
	own := machineTexts
	if kind == guest.Container {
		own = containerTexts
	}
	maps.Copy(out, own)
	return out
}

// liveGuest is a guest with the given texts.
func liveGuest(kind guest.Kind, texts map[string]string) guest.Observed {
	o := guest.Observed{
		Ref: guest.Ref{Kind: kind, Name: "erp", VMID: 105}, Node: "pve1", Status: guest.StatusRunning, Pool: "prod",
		Keys: map[string]guest.Value{}, ReadAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	}
	if kind == guest.Container {
		o.Keys["rootfs"] = guest.Value{Text: "local-lvm:vm-105-disk-0,size=8G", Set: true}
	}
	for key, text := range texts {
		o.Keys[key] = guest.Value{Text: text, Set: true}
	}
	return o
}

// drawLive draws a guest. Most keys are set, some wait for a restart.
func drawLive(t *rapid.T, kind guest.Kind) guest.Observed {
	texts := textsOf(kind)
	o := liveGuest(kind, nil)
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		if rapid.IntRange(0, 3).Draw(t, "set "+key) > 0 {
			o.Keys[key] = guest.Value{Text: rapid.SampledFrom(texts[key]).Draw(t, key), Set: true}
		}
		switch rapid.IntRange(0, 19).Draw(t, "pending "+key) {
		case 0:
			next := rapid.SampledFrom(texts[key]).Draw(t, "next "+key)
			value := o.Keys[key]
			value.Pending = &next
			o.Keys[key] = value
		case 1:
			if value := o.Keys[key]; value.Set {
				value.Delete = true
				o.Keys[key] = value
			}
		}
	}
	o.Status = rapid.SampledFrom([]guest.Status{guest.StatusRunning, guest.StatusStopped}).Draw(t, "status")
	o.Template = rapid.IntRange(0, 9).Draw(t, "template") == 0
	if rapid.Bool().Draw(t, "HA") {
		o.HA = true
		o.Resource = &guest.HA{State: "ignored", MaxRestart: rapid.IntRange(0, 9).Draw(t, "restarts"), MaxRelocate: 1, NoFailback: rapid.Bool().Draw(t, "no failback")}
	}
	return o
}
