package guest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gitops-agent/reconcile/guest/form"
)

// reread is the guest after Proxmox took the changes, as it reads back: volumes allocated, MAC addresses drawn, sizes as they
// became, deleted drives as unused. It shares no parser with the package.
func reread(o Observed, changes []Change) Observed {
	next := o
	next.Keys = maps.Clone(o.Keys)
	if next.Keys == nil {
		next.Keys = map[string]Value{}
	}
	for i, c := range changes {
		was := next.Keys[c.Key]
		switch c.Write {
		case WriteSet:
			stored := stored(o, c.Key, c.Value, i)
			if c.Class == Restart && !strings.Contains(c.Note, "cloud-init") {
				was.Pending, was.Delete = &stored, false
				next.Keys[c.Key] = was
			} else {
				next.Keys[c.Key] = Value{Text: stored, Set: true}
			}
		case WriteDelete:
			if c.Class == Restart && !strings.Contains(c.Note, "cloud-init") {
				was.Delete, was.Pending = true, nil
				next.Keys[c.Key] = was
			} else {
				delete(next.Keys, c.Key)
			}
		case WriteResize:
			grown := func(text string) string {
				kept := slices.DeleteFunc(strings.Split(text, ","), func(part string) bool { return strings.HasPrefix(part, "size=") })
				return strings.Join(append(kept, "size="+c.Value), ",")
			}
			was.Text = grown(was.Text)
			if was.Pending != nil {
				pending := grown(*was.Pending)
				was.Pending = &pending
			}
			next.Keys[c.Key] = was
		case WriteMove:
			old, _, _ := strings.Cut(was.Text, ",")
			fresh := fmt.Sprintf("%s:vm-201-disk-moved-%d", c.Value, i)
			was.Text = strings.Replace(was.Text, old, fresh, 1)
			if was.Pending != nil {
				pending := strings.Replace(*was.Pending, old, fresh, 1)
				was.Pending = &pending
			}
			next.Keys[c.Key] = was
		case WriteHA:
			next.HA, next.Resource = c.Value != HARemove, nil
			if next.HA {
				next.Resource = readHA(c.To)
			}
		case WriteMigrate:
			next.Node = c.Value
		case WritePool:
			next.Pool = c.Value
		case WriteTemplate:
			next.Template = true
		case WriteSecret, WriteFirewall, WriteNone:
		}
	}
	return next
}

// readHA reads an entry as people read it.
func readHA(text string) *HA {
	state, rest, _ := strings.Cut(text, ", ")
	h := HA{State: state}
	if _, err := fmt.Sscanf(rest, "restart %d, relocate %d", &h.MaxRestart, &h.MaxRelocate); err != nil {
		panic(err)
	}
	h.NoFailback = strings.HasSuffix(text, ", no failback")
	return &h
}

// stored is how Proxmox keeps one written value.
func stored(o Observed, key, value string, n int) string {
	parts := strings.Split(value, ",")
	mac := fmt.Sprintf("BC:24:11:00:00:%02X", n)
	switch stem := strings.TrimRight(key, "0123456789"); {
	case key == "tags":
		return value
	case o.Kind == VirtualMachine && stem == "net" && !strings.Contains(parts[0], "="):
		parts[0] += "=" + mac
	case o.Kind == Container && stem == "net" && !strings.Contains(value, "hwaddr="):
		parts = append(parts, "hwaddr="+mac, "type=veth")
	case slices.Contains([]string{"scsi", "virtio", "sata", "ide", "efidisk", "tpmstate", "rootfs", "mp"}, stem):
		return storedDrive(key, parts, n)
	case o.Kind == Container && key == "description":
		return strings.TrimRight(value, " \n") + "\n"
	}
	return strings.Join(parts, ",")
}

func storedDrive(key string, parts []string, n int) string {
	storage, name, _ := strings.Cut(parts[0], ":")
	size := ""
	if name == "cloudinit" {
		return fmt.Sprintf("%s:vm-201-cloudinit,media=cdrom,size=4M", storage)
	}
	if bytes, err := form.ParseSize(name + "G"); err == nil { // otherwise it is the id of a volume
		parts[0], size = fmt.Sprintf("%s:vm-201-disk-%s-%d", storage, key, n), form.FormatSize(bytes)
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return strings.HasPrefix(part, "format=") })
	if size != "" {
		parts = append(parts, "size="+size)
	}
	return strings.Join(parts, ",")
}

// settled are the changes that a second comparison may still show: what cannot be done, and what waits.
func settled(c Change) bool { return c.Class == Impossible || c.Waits }

// vmTexts are texts that keys of a live virtual machine may have; "" is none. ctTexts are those of containers.
var vmTexts = map[string][]string{
	"cores":       {"", "1", "2", "4"},
	"memory":      {"", "512", "current=1024", "4096"},
	"onboot":      {"", "0", "1"},
	"protection":  {"", "0", "1"},
	"tags":        {"", "web", "b;a", "gitops-0123abcd;web", "gitops-ffffffff", "Web;PROD"},
	"description": {"", "a", "a\n", "line\nline"},
	"agent":       {"", "0", "1", "enabled=1,fstrim_cloned_disks=1", "1,type=isa"},
	"cpu":         {"", "host", "cputype=host,flags=+aes;-pcid", "kvm64"},
	"machine":     {"", "q35", "pc-q35-9.2+pve1", "type=pc"},
	"hotplug":     {"", "0", "1", "disk", "network,disk,memory"},
	"balloon":     {"", "0", "256"},
	"net0":        {"", "virtio=BC:24:11:00:00:AA,bridge=vmbr0", "e1000=BC:24:11:00:00:AB,bridge=vmbr1,firewall=1,tag=5", "virtio=bc:24:11:00:00:ac"},
	"scsi0":       {"", "local:vm-201-disk-0,size=1G", "ceph:vm-201-disk-0,discard=on,iothread=1,size=32G", "none,media=cdrom"},
	"ide2":        {"", "none,media=cdrom", "local:iso/tiny.iso,media=cdrom,size=17M", "local:vm-201-cloudinit,media=cdrom,size=4M"},
	"ipconfig0":   {"", "ip=dhcp", "ip=10.0.0.5/24,gw=10.0.0.1", "ip6=auto"},
	"nameserver":  {"", "1.1.1.1", "1.1.1.1,8.8.8.8"},
	"boot":        {"", "order=scsi0;net0", "order=net0"},
	"startup":     {"", "1", "order=2,up=30"},
	"smbios1":     {"uuid=de0a1108-0b75-45b8-8c5c-031b061ab62c", "uuid=DE0A1108-0B75-45B8-8C5C-031B061AB62C,manufacturer=Foo"},
	"sshkeys":     {"", "ssh-ed25519%20AAAA", "ssh-ed25519%20AAAA%0Assh-rsa%20BBBB%0A"},
}

var ctTexts = map[string][]string{
	"cores":        {"", "1", "2"},
	"memory":       {"512", "1024"},
	"swap":         {"", "0", "512"},
	"tags":         vmTexts["tags"],
	"description":  {"", "a\n"},
	"unprivileged": {"1"},
	"features":     {"", "nesting=1", "nesting=0"},
	"net0":         {"", "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:AA,ip=dhcp,type=veth", "name=eth1,bridge=vmbr1,firewall=1,hwaddr=BC:24:11:00:00:AB,type=veth"},
	"nameserver":   {"", "1.1.1.1 8.8.8.8"},
	"rootfs":       {"local:vm-201-disk-0,size=8G", "zfs:subvol-201-disk-0,mountoptions=noatime;nodev,size=4G"},
	"mp0":          {"", "local:vm-201-disk-1,mp=/data,size=1G", "local:vm-201-disk-1,mp=/srv,backup=1,size=2G"},
	"startup":      {"", "1", "order=2,up=30"},
}

// vmSubs and ctSubs are sub-keys that a manifest may want.
var vmSubs = map[string][]string{
	"agent":     {"enabled=1", "enabled=0", "fstrim_cloned_disks=1", "type=virtio"},
	"cpu":       {"cputype=host", "cputype=kvm64", "flags=-pcid;+aes", "flags="},
	"net0":      {"model=virtio", "model=e1000", "bridge=vmbr0", "bridge=vmbr1", "tag=5", "tag=", "firewall=0", "firewall=1", "macaddr=BC:24:11:00:00:DD", "rate=10"},
	"scsi0":     {"storage=local", "storage=ceph", "size=1G", "size=512M", "size=40G", "discard=on", "discard=ignore", "iothread=1", "cache=none", "mbps=10.5", "ssd=1", "format=qcow2"},
	"ide2":      {"volume=cloudinit", "storage=local", "media=cdrom", "volume=none", "volume=local:iso/tiny.iso"},
	"ipconfig0": {"ip=dhcp", "ip=10.0.0.5/24", "gw=10.0.0.1", "gw="},
	"startup":   {"order=1", "up=30", "down="},
}

var ctSubs = map[string][]string{
	"net0":     {"name=eth0", "bridge=vmbr0", "bridge=vmbr1", "ip=dhcp", "ip=10.0.0.5/24", "firewall=1", "tag=7", "hwaddr=BC:24:11:00:00:DD"},
	"rootfs":   {"storage=local", "size=8G", "size=16G", "mountoptions=nodev;noatime"},
	"mp0":      {"storage=local", "size=1G", "size=3G", "mp=/data", "backup=1", "backup=0"},
	"features": {"nesting=1", "nesting=0"},
	"startup":  {"order=1", "up=30", "down="},
}

func drawObserved(t *rapid.T, kind Kind, texts map[string][]string) Observed {
	o := Observed{Ref: Ref{Kind: kind, Name: "x", VMID: 201}, Keys: map[string]Value{}}
	o.Status = rapid.SampledFrom([]Status{StatusRunning, StatusStopped}).Draw(t, "status")
	o.Node = rapid.SampledFrom([]string{"pve1", "pve2", "pve3"}).Draw(t, "node")
	o.Pool = rapid.SampledFrom([]string{"", "prod"}).Draw(t, "pool")
	o.Resource = rapid.SampledFrom([]*HA{nil, {State: "started", MaxRestart: 1, MaxRelocate: 1}, {State: "stopped", MaxRestart: 3}, {State: "started", NoFailback: true}}).Draw(t, "HA")
	o.HA = o.Resource != nil
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		if text := rapid.SampledFrom(texts[key]).Draw(t, "live "+key); text != "" {
			o.Keys[key] = Value{Text: text, Set: true}
		}
		if pending := rapid.SampledFrom(append([]string{"", "", "", ""}, texts[key]...)).Draw(t, "pending "+key); pending != "" && o.Status == StatusRunning {
			value := o.Keys[key]
			value.Pending = &pending
			o.Keys[key] = value
		}
	}
	return o
}

func drawDesired(t *rapid.T, o Observed, texts, wishes map[string][]string) Desired {
	d := Desired{Ref: o.Ref, Marker: rapid.SampledFrom([]string{"", "gitops-0123abcd"}).Draw(t, "marker")}
	d.Nodes = rapid.SampledFrom([][]string{nil, {"pve1"}, {"pve2", "pve3"}}).Draw(t, "nodes")
	d.Migrate = rapid.SampledFrom([]Migration{"", MigrateDeny, MigrateOffline, MigrateOnline}).Draw(t, "migrate")
	d.Pool = rapid.SampledFrom([]string{"", "prod", "test"}).Draw(t, "pool")
	d.Template = rapid.Bool().Draw(t, "template")
	three := 3
	d.HA = rapid.SampledFrom([]*HAWanted{nil, {Absent: true}, {State: "started"}, {MaxRestart: &three}, {State: "ignored", MaxRelocate: &three}, {Failback: new(bool)}}).Draw(t, "wanted HA")
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		in := Intent{Key: key, Verb: Want}
		switch rapid.IntRange(0, 3).Draw(t, "intent "+key) {
		case 0:
			continue
		case 1:
			in.Verb = Absent
		case 2:
			in.Text = rapid.SampledFrom(texts[key]).Draw(t, "text "+key)
		case 3:
			if wishes[key] == nil {
				continue
			}
			in.Sub = map[string]string{}
			for range rapid.IntRange(1, 4).Draw(t, "subs of "+key) {
				name, value, _ := strings.Cut(rapid.SampledFrom(wishes[key]).Draw(t, "sub of "+key), "=")
				in.Sub[name] = value
			}
		}
		d.Intents = append(d.Intents, in)
	}
	return d
}

// checkSettles checks that what Diff writes, read back, needs no further write.
func checkSettles(t *rapid.T, kind Kind, texts, wishes map[string][]string) {
	o := drawObserved(t, kind, texts)
	d := drawDesired(t, o, texts, wishes)
	first := Diff(d, o)
	second := Diff(d, reread(o, first))
	// A protected guest gives up its guard first, what the guard held back in the next round, and a disk that this brings back grows last.
	third := Diff(d, reread(reread(o, first), second))
	fourth := Diff(d, reread(reread(reread(o, first), second), third))
	for _, c := range fourth {
		if !settled(c) {
			t.Fatalf("after %v, %v and %v: got %v, want nothing left to write", briefs(first), briefs(second), briefs(third), briefs(fourth))
		}
	}
	if !slices.IsSortedFunc(first, byKey) {
		t.Fatalf("changes: got %v, want them sorted by key", briefs(first))
	}
}

func TestWrittenValuesConverge(t *testing.T) {
	t.Run("virtual_machine", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { checkSettles(t, VirtualMachine, vmTexts, vmSubs) })
	})
	t.Run("container", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { checkSettles(t, Container, ctTexts, ctSubs) })
	})
}

// TestUnmentionedKeysAreNeverTouched: only the keys of the manifest and the marker change.
func TestUnmentionedKeysAreNeverTouched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawObserved(t, VirtualMachine, vmTexts)
		d := drawDesired(t, o, vmTexts, vmSubs)
		for _, c := range Diff(d, o) {
			mentioned := slices.ContainsFunc(d.Intents, func(in Intent) bool { return in.Key == c.Key })
			mentioned = mentioned || slices.Contains([]string{"ha", "node", "pool", "template"}, c.Key) || c.Key == "tags" && d.Marker != ""
			if !mentioned {
				t.Fatalf("changes: got one of %s, which no intent names", c.Key)
			}
		}
	})
}

// TestDiffIsPure: neither argument changes, and the same arguments give the same changes.
func TestDiffIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawObserved(t, VirtualMachine, vmTexts)
		d := drawDesired(t, o, vmTexts, vmSubs)
		before := fmt.Sprintf("%+v %+v", d, o)
		first, second := briefs(Diff(d, o)), briefs(Diff(d, o))
		if !slices.Equal(first, second) {
			t.Fatalf("changes: got %v, want %v as before", second, first)
		}
		if after := fmt.Sprintf("%+v %+v", d, o); after != before {
			t.Fatalf("arguments: got %s, want %s", after, before)
		}
	})
}
