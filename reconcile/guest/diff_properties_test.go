package guest

import "testing"

const liveCard = "virtio=BC:24:11:AA:00:01,bridge=vmbr0,firewall=1"

func TestDiffProperties(t *testing.T) {
	runDiff(t, map[string]diffTest{
		"named_sub_keys_hold": {live(keys{"net0": liveCard + ",tag=5"}), []Intent{subs("net0", "bridge=vmbr0", "model=virtio")}, nil},
		"live_sub_keys_are_kept": {
			live(keys{"net0": liveCard + ",tag=5"}),
			[]Intent{subs("net0", "bridge=vmbr1")},
			[]string{"net0 set virtio=BC:24:11:AA:00:01,bridge=vmbr1,firewall=1,tag=5 [live]"},
		},
		"empty_unsets": {
			live(keys{"net0": liveCard + ",tag=5"}),
			[]Intent{subs("net0", "tag=")},
			[]string{"net0 set virtio=BC:24:11:AA:00:01,bridge=vmbr0,firewall=1 [live]"},
		},
		"empty_holds": {live(keys{"net0": liveCard}), []Intent{subs("net0", "tag=", "link_down=")}, nil},
		"default_sub_key_is_not_added": {
			live(keys{"net0": "virtio=BC:24:11:AA:00:01,bridge=vmbr0"}),
			[]Intent{subs("net0", "bridge=vmbr1", "firewall=0", "link_down=0")},
			[]string{"net0 set virtio=BC:24:11:AA:00:01,bridge=vmbr1 [live]"},
		},
		"default_sub_key_is_set_over_another": {
			live(keys{"net0": liveCard}),
			[]Intent{subs("net0", "firewall=0")},
			[]string{"net0 set virtio=BC:24:11:AA:00:01,bridge=vmbr0,firewall=0 [live]"},
		},
		"text_pins_the_rest": {
			live(keys{"net0": liveCard + ",tag=5"}),
			[]Intent{text("net0", "virtio,bridge=vmbr0,firewall=1")},
			[]string{"net0 set virtio=BC:24:11:AA:00:01,bridge=vmbr0,firewall=1 [live]"},
		},
		"text_leaves_the_mac": {live(keys{"net0": liveCard}), []Intent{text("net0", "model=virtio,firewall=on,bridge=vmbr0")}, nil},
		"text_pins_a_mac": {
			live(keys{"net0": liveCard}),
			[]Intent{text("net0", "virtio=BC:24:11:AA:00:02,bridge=vmbr0,firewall=1")},
			[]string{"net0 set virtio=BC:24:11:AA:00:02,bridge=vmbr0,firewall=1 [live]"},
		},
		"nothing_said_takes_nothing": {live(keys{"net0": liveCard, "scsi0": "local:201/vm-201-disk-0.raw,size=1G"}), []Intent{text("net0", ""), text("scsi0", "")}, nil},
		"model_changes_mac_stays": {
			live(keys{"net0": liveCard}),
			[]Intent{subs("net0", "model=e1000")},
			[]string{"net0 set e1000=BC:24:11:AA:00:01,bridge=vmbr0,firewall=1 [live]"},
		},
		"new_card": {live(nil), []Intent{subs("net1", "bridge=vmbr0", "tag=20", "firewall=1")}, []string{"net1 set virtio,bridge=vmbr0,firewall=1,tag=20 [live]"}},
		"new_veth": {
			container(live(nil)),
			[]Intent{subs("net1", "bridge=vmbr0", "ip=dhcp")},
			[]string{"net1 set name=eth1,bridge=vmbr0,ip=dhcp [live]"},
		},
		"veth_keeps_its_address": {
			container(live(keys{"net0": "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:98:67:42,ip=10.1.0.7/24,type=veth"})),
			[]Intent{subs("net0", "ip=10.1.0.8/24")},
			[]string{"net0 set name=eth0,bridge=vmbr0,hwaddr=BC:24:11:98:67:42,ip=10.1.0.8/24,type=veth [live]"},
		},
		"config_key_absent_means_defaults": {live(nil), []Intent{subs("agent", "enabled=0"), subs("vga", "type=std"), subs("cpu", "cputype=kvm64"), subs("memory", "current=512")}, nil},
		"device_of_defaults_alone_is_none": {
			live(nil), []Intent{subs("usb0", "usb3=0")}, []string{"usb0 none [impossible] the manifest names nothing that creates the device"},
		},
		"device_absent_never_holds":  {live(nil), []Intent{subs("rng0", "source=/dev/urandom")}, []string{"rng0 set /dev/urandom [live]"}},
		"agent_off_ignores_the_rest": {live(keys{"agent": "0"}), []Intent{subs("agent", "enabled=0", "fstrim_cloned_disks=1")}, nil},
		"agent_alias":                {live(keys{"agent": "1,freeze-fs-on-backup=0"}), []Intent{subs("agent", "freeze-fs=0")}, nil},
		"last_sub_key_unset_deletes_the_key": {
			container(live(keys{"features": "nesting=1", "unprivileged": "1"})), []Intent{subs("features", "nesting=")}, []string{"features delete [live]"},
		},
		"boot_order_counts": {
			live(keys{"boot": "order=scsi0;net0", "scsi0": liveDisk, "net0": liveCard}),
			[]Intent{subs("boot", "order=net0;scsi0")},
			[]string{"boot set order=net0;scsi0 [live]"},
		},
		"boot_from_what_is_not_there": {
			live(keys{"boot": "order=scsi0", "scsi0": liveDisk}),
			[]Intent{subs("boot", "order=scsi9;scsi0;net3")},
			[]string{"boot none [impossible] the boot order names a device that does not exist: scsi9, net3"},
		},
		"boot_from_what_is_added": {
			live(keys{"boot": "order=scsi0", "scsi0": liveDisk}),
			[]Intent{subs("boot", "order=scsi1;scsi0"), subs("scsi1", "storage=local", "size=1G")},
			[]string{"boot set order=scsi1;scsi0 [live]", "scsi1 set local:1 [live]"},
		},
		"boot_from_what_cannot_be_added": {
			live(keys{"boot": "order=scsi0", "scsi0": liveDisk}),
			[]Intent{subs("boot", "order=scsi1;scsi0"), subs("scsi1", "storage=local")},
			[]string{
				"boot none [impossible] the boot order names a device that does not exist: scsi1",
				"scsi1 none [impossible] the slot is empty: set size to create a volume",
			},
		},
		"boot_from_what_waits": {
			running(keys{"boot": "order=scsi0", "scsi0": liveDisk, "ide0": "? none,media=cdrom"}),
			[]Intent{subs("boot", "order=ide0")},
			[]string{"boot set order=ide0 [restart] restart needed"},
		},
		"boot_from_what_goes": {
			live(keys{"boot": "order=net0;scsi0", "scsi0": liveDisk, "net0": liveCard}),
			[]Intent{subs("boot", "order=scsi0;net0"), absent("net0")},
			[]string{"boot none [impossible] the boot order names a device that does not exist: net0", "net0 delete [live]"},
		},
		"machine_family_holds_for_its_versions": {live(keys{"machine": "pc-q35-9.2+pve1"}), []Intent{subs("machine", "type=q35")}, nil},
		"machine_version_is_pinned":             {live(keys{"machine": "q35"}), []Intent{subs("machine", "type=pc-q35-9.2")}, []string{"machine set pc-q35-9.2 [live]"}},
		"uuid_is_kept": {
			live(keys{"smbios1": "uuid=11111111-2222-3333-4444-555555555555"}),
			[]Intent{subs("smbios1", "manufacturer=Foo")},
			[]string{"smbios1 set uuid=11111111-2222-3333-4444-555555555555,manufacturer=Foo [live]"},
		},
		"ipconfig_absent_is_dhcp":     {live(nil), []Intent{subs("ipconfig0", "ip=dhcp")}, nil},
		"ipconfig_compares_addresses": {live(keys{"ipconfig0": "gw6=FD00::1,ip6=fd00:0::5/64"}), []Intent{subs("ipconfig0", "ip6=fd00::5/64", "gw6=fd00::1")}, nil},
	})
}

func TestDiffIgnores(t *testing.T) {
	o := live(keys{"cores": "2", "net0": liveCard, "scsi0": "local:201/vm-201-disk-0.raw,size=24G"})
	d := want(o, text("cores", "4"), subs("net0", "macaddr=BC:24:11:AA:00:09", "bridge=vmbr0"), subs("scsi0", "size=32G"), subs("net01", "bridge=x"))
	tests := map[string]struct {
		ignore []string
		want   int
	}{
		"nothing":      {nil, 4},
		"key":          {[]string{"cores"}, 3},
		"sub_key":      {[]string{"net0.macaddr"}, 3},
		"size":         {[]string{"scsi0.size"}, 3},
		"whole_device": {[]string{"net0"}, 3},
		"several":      {[]string{"cores", "net0.macaddr", "scsi0.size"}, 1},
		"other_keys":   {[]string{"core", "coresx", "net0.mac", "net", "scsi0.sizes", ""}, 4},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d.Ignore = test.ignore
			if got := Diff(d, o); len(got) != test.want {
				t.Errorf("changes: got %v, want %d", briefs(got), test.want)
			}
		})
	}
}

func TestIgnoredSubKeyKeepsItsLiveValue(t *testing.T) {
	o := live(keys{"net0": liveCard})
	d := want(o, text("net0", "virtio=BC:24:11:AA:00:09,bridge=vmbr1,tag=3"))
	d.Ignore = []string{"net0.macaddr", "net0.firewall"}
	got := Diff(d, o)
	if len(got) != 1 || got[0].Value != "virtio=BC:24:11:AA:00:01,bridge=vmbr1,firewall=1,tag=3" {
		t.Errorf("changes: got %v, want the live MAC and firewall kept", briefs(got))
	}
}

func TestDiffReportsOriginsAndCanonicalText(t *testing.T) {
	o := live(keys{"net0": liveCard, "tags": "z;a"})
	in := subs("net0", "bridge=vmbr1")
	in.Origin = Origin{File: "web.yaml", Line: 12, Column: 5}
	got := Diff(want(o, in), o)
	if len(got) != 1 {
		t.Fatalf("changes: got %v, want one", briefs(got))
	}
	c := got[0]
	if c.Origin != in.Origin || c.From != "virtio=BC:24:11:AA:00:01,bridge=vmbr0,firewall=1" || c.To != "virtio=BC:24:11:AA:00:01,bridge=vmbr1,firewall=1" {
		t.Errorf("change: got %+v, want its origin and both canonical texts", c)
	}
}
