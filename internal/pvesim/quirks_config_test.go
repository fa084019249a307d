package pvesim

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestValuesReadBack has a case for each way in which a value that is read differs from the value that was written. Cases are about VMs unless
// their name begins with ct.
// want is the value as JSON, "" for an absent key; MAC stands for a generated address, UUID for a generated uuid.
func TestValuesReadBack(t *testing.T) {
	const (
		key = "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIMjJIgmBwGHzxaes7iXh%2fdc%2F0gj2H%2BIRWkEN5c9tx7Wa%20a%40h%0A"
		dir = "local:100/vm-100-disk-"
	)
	tests := map[string]struct {
		have string // lines of the config before
		set  string // what is written, "" for nothing
		key  string // that is read
		want string
	}{
		"boot_without_devices":        {"", "cores=1", "boot", `" "`},
		"boot_added":                  {"scsi0: local:1\nnet0: virtio,bridge=vmbr0\n", "cores=1", "boot", `"order=scsi0;net0"`},
		"empty_tags":                  {"tags: a\n", "tags=", "tags", `" "`},
		"empty_nameserver":            {"", "nameserver=", "nameserver", `" "`},
		"empty_ipconfig":              {"", "ipconfig0=", "ipconfig0", `" "`},
		"empty_vga":                   {"", "vga=", "vga", `" "`},
		"empty_sshkeys_keeps":         {"sshkeys: " + key + "\n", "sshkeys=", "sshkeys", `"` + key + `"`},
		"empty_description_removes":   {"#x\n", "description=", "description", ""},
		"tags_separators":             {"", "tags=B;a,c d", "tags", `"a;b;c;d"`},
		"tags_twice":                  {"", "tags=a;b;A", "tags", `"a;b"`},
		"description_trailing":        {"", "description=  a  \n\n", "description", `"  a"`},
		"ct_description_newline":      {"", "description=a", "description", `"a\n"`},
		"net_firewall_word":           {"", "net0=virtio,bridge=vmbr0,firewall=yes", "net0", `"virtio=MAC,bridge=vmbr0,firewall=1"`},
		"net_long_form":               {"", "net0=model=virtio,macaddr=aa:BB:cc:00:00:01,bridge=b", "net0", `"virtio=aa:BB:cc:00:00:01,bridge=b"`},
		"net_order":                   {"", "net0=virtio=AA:BB:CC:00:00:01,bridge=b,tag=10,firewall=0,", "net0", `"virtio=AA:BB:CC:00:00:01,bridge=b,firewall=0,tag=10"`},
		"ct_net":                      {"", "net0=bridge=vmbr0,name=eth0", "net0", `"name=eth0,bridge=vmbr0,hwaddr=MAC,type=veth"`},
		"disk_allocated":              {"", "scsi0=local:1,format=qcow2,iothread=1,discard=on", "scsi0", `"` + dir + `0.qcow2,discard=on,iothread=1,size=1G"`},
		"disk_half_a_gib":             {"", "scsi0=local:0.5", "scsi0", `"` + dir + `0.raw,size=512M"`},
		"disk_size_ignored":           {"scsi0: local:1\n", "scsi0=" + dir + "0.raw,size=5G", "scsi0", `"` + dir + `0.raw,size=1G"`},
		"disk_size_ignored_new":       {"", "scsi0=local:1,size=5G", "scsi0", `"` + dir + `0.raw,size=1G"`},
		"disk_again":                  {"scsi0: local:1\n", "scsi0=local:1", "unused0", `"` + dir + `0.raw"`},
		"cd_size":                     {"", "ide2=local:iso/x.iso,media=cdrom", "ide2", `"local:iso/x.iso,media=cdrom,size=17M"`},
		"cd_drive":                    {"", "ide2=cdrom", "ide2", `"cdrom,media=cdrom"`},
		"cdrom_alias":                 {"", "cdrom=none", "ide2", `"none,media=cdrom"`},
		"cloud_init_drive":            {"", "ide2=local:cloudinit", "ide2", `"local:100/vm-100-cloudinit.qcow2,media=cdrom"`},
		"efi_disk":                    {"", "efidisk0=local:1,pre-enrolled-keys=1,efitype=4m", "efidisk0", `"` + dir + `0.raw,efitype=4m,pre-enrolled-keys=1,size=528K"`},
		"tpm_state":                   {"", "tpmstate0=local:1,version=v2.0", "tpmstate0", `"` + dir + `0.raw,size=4M,version=v2.0"`},
		"password_masked":             {"", "cipassword=secret", "cipassword", `"**********"`},
		"sshkeys_as_sent":             {"", "sshkeys=" + key, "sshkeys", `"` + key + `"`},
		"sshkeys_blank_lines":         {"", "sshkeys=%0A" + key + "%0A%20%0A", "sshkeys", `"%0A` + key + `%0A%20%0A"`},
		"usb_spice_with_options":      {"", "usb0=spice,usb3=1", "usb0", `"spice,usb3=1"`},
		"ct_nameserver":               {"", "nameserver=1.1.1.1,8.8.8.8", "nameserver", `"1.1.1.1 8.8.8.8"`},
		"nameserver_as_sent":          {"", "nameserver=1.1.1.1,notanip", "nameserver", `"1.1.1.1,notanip"`},
		"ct_rootfs_as_sent":           {"rootfs: local:1\n", "rootfs=local:2", "rootfs", `"local:2"`},
		"agent_as_sent":               {"", "agent=enabled=1", "agent", `"enabled=1"`},
		"cpu_as_sent":                 {"", "cpu=cputype=host", "cpu", `"cputype=host"`},
		"startup_as_sent":             {"", "startup=1,up=5", "startup", `"1,up=5"`},
		"smbios_as_sent":              {"", "smbios1=manufacturer=Foo", "smbios1", `"manufacturer=Foo"`},
		"boolean_is_a_number":         {"", "onboot=0", "onboot", `0`},
		"default_is_shown":            {"", "protection=0", "protection", `0`},
		"unset_is_absent":             {"", "cores=2", "memory", ""},
		"memory_is_text":              {"", "memory=1024", "memory", `"1024"`},
		"memory_form_kept":            {"", "memory=current=1024", "memory", `"current=1024"`},
		"ct_memory_is_a_number":       {"", "memory=1024", "memory", `1024`},
		"cores_is_a_number":           {"", "cores=2", "cores", `2`},
		"cpulimit_is_text":            {"", "cpulimit=1.5", "cpulimit", `"1.5"`},
		"ct_cpulimit_is_text":         {"", "cpulimit=2", "cpulimit", `"2"`},
		"downtime_is_text":            {"", "migrate_downtime=0.1", "migrate_downtime", `"0.1"`},
		"cpuunits_clamped":            {"", "cpuunits=262144", "cpuunits", `10000`},
		"cpuunits_clamped_below":      {"", "cpuunits=1", "cpuunits", `1`},
		"ct_cpuunits_clamped":         {"", "cpuunits=500000", "cpuunits", `10000`},
		"windows_machine_pinned":      {"", "ostype=win11", "machine", `"pc-i440fx-10.0+pve1"`},
		"windows_q35_pinned":          {"machine: q35\n", "ostype=win11", "machine", `"pc-q35-10.0+pve1"`},
		"boot_loses_deleted_device":   {"boot: order=scsi0;net0\nscsi0: local:1\nnet0: virtio,bridge=vmbr0\n", "delete=net0", "boot", `"order=scsi0"`},
		"boot_gains_cdrom":            {"boot: order=scsi0\nscsi0: local:1\n", "ide2=local:iso/x.iso,media=cdrom", "boot", `"order=scsi0;ide2"`},
		"deleted_key_that_is_not_set": {"", "delete=balloon", "balloon", ""},
	}
	mac := regexp.MustCompile(`BC:24:11(:[0-9A-F]{2}){3}`)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, c *client) {
				if err := c.sim.AddVolume("local:iso/x.iso", 17825792); err != nil {
					t.Fatal(err)
				}
				path := vm100 + "/config"
				if strings.HasPrefix(name, "ct_") {
					path = "/nodes/pve1/lxc/100/config"
					if _, err := c.sim.AddCT(Guest{VMID: 100, Config: tt.have}); err != nil {
						t.Fatal(err)
					}
				} else {
					addVM(t, c.sim, 100, tt.have)
				}
				c.ok("PUT", path, tt.set)
				var conf map[string]json.RawMessage
				if err := json.Unmarshal(c.ok("GET", path).data(t), &conf); err != nil {
					t.Fatal(err)
				}
				if got := mac.ReplaceAllString(string(conf[tt.key]), "MAC"); got != tt.want {
					t.Errorf("%s: got %s, want %s", tt.key, got, tt.want)
				}
			})
		})
	}
}

func TestRejectedValues(t *testing.T) {
	tests := map[string]struct {
		path, set string
		status    int
		text      string // in reason or body
	}{
		"tag_characters":       {vm100, "tags=a:b", 400, "invalid characters in tag"},
		"form_boolean":         {vm100, "onboot=true", 400, "type check ('boolean') failed - got 'true'"},
		"iso_without_media":    {vm100, "ide2=local:iso/x.iso", 400, "explicit 'media=cdrom' is required for iso images"},
		"sshkeys_raw":          {vm100, "sshkeys=ssh-ed25519 AAAA", 400, "invalid urlencoded string"},
		"sshkeys_plus":         {vm100, "sshkeys=ssh-ed25519+AAAA", 400, "invalid urlencoded string"},
		"sshkeys_slash":        {vm100, "sshkeys=ssh-ed25519%20A/A", 400, "invalid urlencoded string"},
		"sshkeys_comment":      {vm100, "sshkeys=%23%20comment", 500, "SSH public key validation error"},
		"cpu_unknown":          {vm100, "cpu=nosuch", 400, "Built-in cputype 'nosuch' is not defined (missing 'custom-' prefix?)"},
		"balloon_above_memory": {vm100, "balloon=99999", 500, "balloon value too large (must be smaller than assigned memory)"},
		"slot_out_of_range":    {vm100, "scsi31=local:1", 400, unknownProperty},
		"storage_unknown":      {vm100, "scsi0=nosuch:1", 500, "storage 'nosuch' does not exist"},
		"volume_unknown":       {vm100, "scsi0=local:100/vm-100-disk-9.raw", 500, "volume 'local:100/vm-100-disk-9.raw' does not exist"},
		"cpu_flag":             {vm100, "cpu=host,flags=aes", 400, "cpu.flags: value does not match the regex pattern"},
		"smbios_blank":         {vm100, "smbios1=manufacturer=Acme Inc", 400, "smbios1.manufacturer: value does not match the regex pattern"},
		"smbios_serial":        {vm100, "smbios1=serial=a b", 400, "smbios1.serial: value does not match the regex pattern"},
		"hotplug_feature":      {vm100, "hotplug=foo", 400, "invalid hotplug feature 'foo'"},
		"root_key_format":      {vm100, "amd-sev=foo", 400, "amd-sev.type: value 'foo' does not have a value in the enumeration 'std, es, snp'"},
		"revert_and_set":       {vm100, "revert=cores&cores=2", 400, `"delete":"you can't use '-cores' and -revert cores' at the same time"`},
		"second_cloud_init":    {vm100, "ide0=local:cloudinit", 500, "ide0 - cloud-init drive is already attached at 'ide2'"},
		"cloud_init_attached":  {vm100, "ide0=local:100/vm-100-cloudinit.qcow2,media=cdrom", 500, "ide0 - cloud-init drive is already attached at 'ide2'"},
		"boot_unknown_device":  {vm100, "boot=order=scsi9", 500, "invalid bootorder: device 'scsi9' does not exist'"},
		"set_and_delete":       {vm100, "cores=1&delete=cores", 400, "at the same time"},
		"delete_unknown":       {vm100, "delete=nosuch", 400, "unknown option 'nosuch'"},
		"ct_set_and_delete":    {"/nodes/pve1/lxc/200", "cores=1&delete=cores", 400, `"delete":"you can't use '-cores' and -delete cores' at the same time"`},
		"ct_set_and_revert":    {"/nodes/pve1/lxc/200", "cores=1&revert=cores", 400, `"revert":"you can't use '-cores' and '-revert cores' at the same time"`},
		"ct_delete_and_revert": {"/nodes/pve1/lxc/200", "delete=cores&revert=cores", 400, `"delete":"you can't use '-delete cores' and '-revert cores' at the same time"`},
		"ct_delete_unknown":    {"/nodes/pve1/lxc/200", "delete=nosuch", 400, `"delete":"unknown option 'nosuch'"`},
		"ct_revert_unknown":    {"/nodes/pve1/lxc/200", "revert=nosuch", 400, `"revert":"unknown option 'nosuch'"`},
		"ct_time_zone":         {"/nodes/pve1/lxc/200", "timezone=Nowhere/X", 400, "invalid time zone 'Nowhere/X'"},
		"ct_time_zone_form":    {"/nodes/pve1/lxc/200", "timezone=Etc/UTC", 400, "invalid time zone 'Etc/UTC'"},
		"ct_nameserver":        {"/nodes/pve1/lxc/200", "nameserver=bad", 400, "nameserver"},
		"ct_required":          {"/nodes/pve1/lxc/200", "delete=memory", 500, "unable to delete required option 'memory'"},
		"ct_unprivileged":      {"/nodes/pve1/lxc/200", "unprivileged=0", 500, "unable to modify read-only option: 'unprivileged'"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "cores: 1\nide2: local:cloudinit\nnet0: virtio,bridge=vmbr0\n")
				if _, err := c.sim.AddCT(Guest{VMID: 200}); err != nil {
					t.Fatal(err)
				}
				before := configTexts(c.sim)
				got := c.call("PUT", tt.path+"/config", strings.Split(tt.set, "&")...)
				if got.status != tt.status || !strings.Contains(got.reason+got.body, tt.text) {
					t.Errorf("got %d %s %s, want %d with %q", got.status, got.reason, got.body, tt.status, tt.text)
				}
				for id, text := range configTexts(c.sim) {
					if text != before[id] {
						t.Errorf("file of %d: got it changed, want it as before", id)
					}
				}
			})
		})
	}
}

// TestBootOrderWithNewDevice writes a boot order together with the device that it names, and a cloud-init drive after the previous one was
// deleted.
func TestBootOrderWithNewDevice(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "ide2: local:cloudinit\nnet0: virtio,bridge=vmbr0\n")
		checkReply(t, "drive that moves", c.call("PUT", vm100+"/config", "ide0=local:cloudinit", "delete=ide2"), 500,
			"ide0 - cloud-init drive is already attached at 'ide2'")
		checkReply(t, "device that goes", c.call("PUT", vm100+"/config", "boot=order=net0", "delete=net0"), 500,
			"invalid bootorder: device 'net0' does not exist'")
		c.ok("PUT", vm100+"/config", "boot=order=scsi0", "scsi0=local:1", "delete=ide2")
		c.ok("PUT", vm100+"/config", "ide0=local:cloudinit")
		conf := c.config(100)
		if conf["boot"] != "order=scsi0" || !strings.Contains(conf["ide0"], "cloudinit") || conf["ide2"] != "" {
			t.Errorf("got boot %q, ide0 %q, ide2 %q, want the disk to boot from, and the one drive in its new slot", conf["boot"], conf["ide0"], conf["ide2"])
		}
		got := c.task("POST", "/nodes/pve1/qemu", "vmid=101", "ide0=local:cloudinit", "ide2=local:cloudinit")
		if want := "unable to create VM 101 - ide2 - cloud-init drive is already attached at 'ide0'"; got != want {
			t.Errorf("create with two cloud-init drives: got %q, want %q", got, want)
		}
	})
}

func TestCreateAddsIdentities(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		if got := c.task("POST", "/nodes/pve1/qemu", "vmid=100"); got != "OK" {
			t.Fatalf("create: got %s, want OK", got)
		}
		conf := c.config(100)
		for k, pattern := range map[string]string{
			"boot": `^ $`, "meta": `^creation-qemu=[0-9.]+,ctime=\d+$`, "smbios1": `^uuid=[0-9a-f-]{36}$`, "vmgenid": `^[0-9a-f-]{36}$`, "digest": `^[0-9a-f]{40}$`,
		} {
			if !regexp.MustCompile(pattern).MatchString(conf[k]) {
				t.Errorf("%s: got %q, want it to match %s", k, conf[k], pattern)
			}
			delete(conf, k)
		}
		if len(conf) != 0 {
			t.Errorf("other keys: got %v, want none", conf)
		}
	})
}

// A uuid is generated only for a VM that is created without smbios1. A clone always gets a new one, and keeps the other sub-keys, sorted.
func TestCreateKeepsSMBIOSAsSent(t *testing.T) {
	tests := map[string]struct{ sent, created, cloned string }{
		"nothing":   {"", `^uuid=[0-9a-f-]{36}$`, `^uuid=[0-9a-f-]{36}$`},
		"no_uuid":   {"serial=s1,manufacturer=Acme", `^serial=s1,manufacturer=Acme$`, `^manufacturer=Acme,serial=s1,uuid=[0-9a-f-]{36}$`},
		"with_uuid": {"uuid=C2E4B17C-5B99-4F9D-8ED6-54CC70EAD908", `^uuid=C2E4B17C-5B99-4F9D-8ED6-54CC70EAD908$`, `^uuid=[0-9a-f-]{36}$`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, c *client) {
				params := []string{"vmid=100"}
				if tt.sent != "" {
					params = append(params, "smbios1="+tt.sent)
				}
				if got := c.task("POST", "/nodes/pve1/qemu", params...); got != "OK" {
					t.Fatalf("create: got %s, want OK", got)
				}
				if got := c.task("POST", vm100+"/clone", "newid=101"); got != "OK" {
					t.Fatalf("clone: got %s, want OK", got)
				}
				for vmid, want := range map[int]string{100: tt.created, 101: tt.cloned} {
					if got := c.config(vmid)["smbios1"]; !regexp.MustCompile(want).MatchString(got) || vmid == 101 && strings.Contains(got, "C2E4") {
						t.Errorf("smbios1 of %d: got %q, want it to match %s", vmid, got, want)
					}
				}
			})
		})
	}
}

func TestCloneInProgress(t *testing.T) {
	bubble(t, Options{TaskTimes: map[string]time.Duration{"qmclone": time.Minute}}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "#source\nname: xc\nonboot: 1\ntags: t\nipconfig0: ip=dhcp\nscsi0: local-lvm:1\nnet0: virtio,bridge=vmbr0\n")
		upid := strings.Trim(string(c.ok("POST", vm100+"/clone", "newid=101", "full=1").data(t)), `"`)
		time.Sleep(time.Second)
		conf := c.config(101)
		delete(conf, "digest")
		if len(conf) != 2 || conf["lock"] != "clone" || conf["description"] != " qmclone temporary file" {
			t.Errorf("target under way: got %v, want the lock and the note alone", conf)
		}
		const target = "/nodes/pve1/qemu/101"
		checkReply(t, "write to the target", c.call("PUT", target+"/config", "cores=2"), 500, "VM is locked (clone)")
		c.ok("PUT", vm100+"/config", "cores=2") // the source is free
		if got := c.wait(upid); got != "OK" {
			t.Fatalf("clone: got %s, want OK", got)
		}
		conf = c.config(101)
		for k, want := range map[string]string{
			"name": "Copy-of-VM-xc", "onboot": "1", "tags": "t", "description": "source", "ipconfig0": "ip=dhcp", "meta": c.sim.Value(100, "meta"),
		} {
			if conf[k] != want {
				t.Errorf("%s of the clone: got %q, want %q", k, conf[k], want)
			}
		}
		upid = strings.Trim(string(c.ok("POST", vm100+"/clone", "newid=102", "full=1").data(t)), `"`)
		time.Sleep(30 * time.Second)
		c.ok("DELETE", "/nodes/pve1/tasks/"+upid)
		if got := c.wait(upid); got == "OK" || c.sim.Config(102) != "" || len(c.sim.volumesOf(102)) != 0 {
			t.Errorf("aborted clone: got %s and config %q, want it cleaned up", got, c.sim.Config(102))
		}
	})
}

func TestWindowsMachinePinnedAsPending(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "")
		c.ok("PUT", vm100+"/config", "ostype=win10")
		if body := c.ok("GET", vm100+"/pending").body; !strings.Contains(body, `{"key":"machine","pending":"pc-i440fx-10.0+pve1"}`) {
			t.Errorf("pending: got %s, want a machine although no call wrote it", body)
		}
	})
}

// TestReservedSnapshotNames makes snapshots with names that Proxmox keeps for itself, for one kind of guest or for both.
func TestReservedSnapshotNames(t *testing.T) {
	t.Parallel()
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "cores: 1\n")
		if _, err := c.sim.AddCT(Guest{VMID: 200, Config: "rootfs: local-lvm:4\n"}); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct{ path, name, want string }{
			{vm100, "current", "current"},
			{vm100, "pending", "pending"},
			{vm100, "PENDING", "pending"},
			{vm100, "vzdump", ""},
			{"/nodes/pve1/lxc/200", "current", "current"},
			{"/nodes/pve1/lxc/200", "pending", ""},
			{"/nodes/pve1/lxc/200", "vzdump", "vzdump"},
		} {
			if test.want == "" {
				if got := c.task("POST", test.path+"/snapshot", "snapname="+test.name); got != "OK" {
					t.Errorf("%s of %s: got %q, want OK", test.name, test.path, got)
				}
				continue
			}
			checkReply(t, test.name+" of "+test.path, c.call("POST", test.path+"/snapshot", "snapname="+test.name), 500, "unable to use snapshot name '"+test.want+"' (reserved name)")
		}
	})
}
