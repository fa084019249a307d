package guest

import (
	"strings"
	"testing"
)

// TestQuirkOfVirtualMachineKey has a fixture for each way in which a key of a virtual machine reads back other than it was
// written, or means other than it says. Where nothing is wanted, the two are the same.
func TestQuirkOfVirtualMachineKey(t *testing.T) {
	disk := func(text string) Observed { return live(keys{"scsi0": text}) }
	runDiff(t, map[string]diffTest{
		"name_is_the_configured_one_not_the_shown_one": {
			func() Observed { o := live(nil); o.Name = "VM 201"; return o }(), []Intent{text("name", "VM201")}, []string{"name set VM201 [live]"},
		},
		"name_unset_and_not_wanted":              {live(nil), []Intent{absent("name")}, nil},
		"tags_in_the_order_of_the_datacenter":    {live(keys{"tags": "web;prod;Db"}), []Intent{text("tags", "db,prod,web")}, nil},
		"description_removed_by_an_empty_one":    {live(nil), []Intent{text("description", "\n")}, nil},
		"description_keeps_carriage_returns":     {live(keys{"description": "a\r\nb"}), []Intent{text("description", "a\nb\r\n")}, nil},
		"net_model_by_name":                      {live(keys{"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0"}), []Intent{text("net0", "macaddr=BC:24:11:00:00:01,bridge=vmbr0,model=virtio")}, nil},
		"net_mtu_of_the_bridge_is_a_value":       {live(keys{"net0": liveCard}), []Intent{subs("net0", "mtu=1")}, []string{"net0 set virtio=BC:24:11:AA:00:01,bridge=vmbr0,firewall=1,mtu=1 [live]"}},
		"net_rate_in_another_precision":          {live(keys{"net0": "virtio=BC:24:11:00:00:04,rate=10.50"}), []Intent{subs("net0", "rate=10.5")}, nil},
		"net_trunks_as_ranges":                   {live(keys{"net0": "virtio=BC:24:11:00:00:04,trunks=1;2;3"}), []Intent{subs("net0", "trunks=3;1-2")}, nil},
		"drive_by_file_or_volume":                {disk("volume=local:201/vm-201-disk-0.raw,size=1G"), []Intent{text("scsi0", "file=local:201/vm-201-disk-0.raw")}, nil},
		"drive_of_a_template":                    {disk("local:201/base-201-disk-0.raw,size=1G"), []Intent{subs("scsi0", "storage=local", "size=1G")}, nil},
		"drive_size_in_the_largest_exact_unit":   {disk("local:201/vm-201-disk-0.raw,size=4608M"), []Intent{subs("scsi0", "size=4.5G")}, nil},
		"drive_size_rounded_by_the_storage":      {disk("local-lvm:vm-201-disk-0,size=20M"), []Intent{subs("scsi0", "size=18M")}, nil},
		"drive_size_in_a_text_is_ignored":        {disk("local:201/vm-201-disk-0.raw,size=1G"), []Intent{text("scsi0", "local:201/vm-201-disk-0.raw,size=5G")}, nil},
		"drive_format_is_dropped":                {disk("local:201/vm-201-disk-0.raw,size=1G"), []Intent{subs("scsi0", "format=qcow2", "import-from=local:import/x.qcow2")}, nil},
		"drive_bytes_become_mebibytes":           {disk("local:201/vm-201-disk-0.raw,mbps_rd=10.500,size=1G"), []Intent{text("scsi0", "local:201/vm-201-disk-0.raw,bps_rd=11010048")}, nil},
		"drive_defaults_are_left_out":            {disk("local:201/vm-201-disk-0.raw,size=1G"), []Intent{subs("scsi0", "discard=ignore", "replicate=1", "backup=1", "ssd=0", "iothread=0", "shared=0", "media=disk", "cache=none")}, nil},
		"drive_defaults_are_kept_if_said":        {disk("local:201/vm-201-disk-0.raw,backup=1,discard=ignore,size=1G"), []Intent{text("scsi0", "local:201/vm-201-disk-0.raw")}, nil},
		"drive_serial_is_encoded":                {disk("local:201/vm-201-disk-0.raw,serial=a%2fb%20c,size=1G"), []Intent{subs("scsi0", "serial=a%2Fb%20c")}, nil},
		"drive_wwn_in_any_case":                  {disk("local:201/vm-201-disk-0.raw,size=1G,wwn=0x5000C50015EA71AC"), []Intent{subs("scsi0", "wwn=0x5000c50015ea71ac")}, nil},
		"cdrom_is_ide2":                          {live(keys{"ide2": liveISO}), []Intent{text("cdrom", "local:iso/tiny.iso")}, []string{"cdrom none [impossible] Proxmox stores it as ide2: set that key"}},
		"smp_is_sockets":                         {live(nil), []Intent{text("smp", "2")}, []string{"smp none [impossible] Proxmox stores it as sockets: set that key"}},
		"cdrom_gains_media":                      {live(keys{"ide3": "cdrom,media=cdrom"}), []Intent{text("ide3", "cdrom")}, nil},
		"empty_tray_needs_no_media":              {live(keys{"ide3": "none"}), []Intent{text("ide3", "none,media=cdrom")}, nil},
		"cloud_init_drive_on_lvm":                {live(keys{"ide2": "local-lvm:vm-201-cloudinit,media=cdrom"}), []Intent{subs("ide2", "storage=local-lvm", "volume=cloudinit")}, nil},
		"cloud_init_drive_has_a_size_of_its_own": {live(keys{"ide2": "local:201/vm-201-cloudinit.qcow2,media=cdrom,size=4M"}), []Intent{subs("ide2", "storage=local", "volume=cloudinit")}, nil},
		"efidisk_certificates_are_enrolled":      {live(keys{"efidisk0": "local:201/vm-201-disk-1.raw,efitype=4m,ms-cert=2023k,pre-enrolled-keys=1,size=4M"}), []Intent{subs("efidisk0", "storage=local", "efitype=4m", "pre-enrolled-keys=1")}, nil},
		"efidisk_type_by_default":                {live(keys{"efidisk0": "local:201/vm-201-disk-1.raw,size=128K"}), []Intent{subs("efidisk0", "storage=local", "efitype=2m")}, nil},
		"tpmstate_version_by_default":            {live(keys{"tpmstate0": "local:201/vm-201-disk-1.raw,size=4M"}), []Intent{subs("tpmstate0", "storage=local", "version=v1.2")}, nil},
		"tpmstate_version_is_fixed":              {live(keys{"tpmstate0": "local:201/vm-201-disk-1.raw,size=4M"}), []Intent{subs("tpmstate0", "version=v2.0")}, []string{"tpmstate0 none [impossible] can only be set when the device is created"}},
		"unused_appears_by_itself":               {live(keys{"unused0": "local:201/vm-201-disk-1.raw"}), nil, nil},
		"boot_edits_itself":                      {live(keys{"boot": "order=scsi0;net0;ide2"}), nil, nil},
		"boot_edited_where_it_is_pinned":         {live(keys{"boot": "order=scsi0;net0;ide2", "scsi0": liveDisk, "net0": liveCard}), []Intent{subs("boot", "order=scsi0;net0")}, []string{"boot set order=scsi0;net0 [live]"}},
		"boot_of_old":                            {live(keys{"boot": "cdn", "bootdisk": "scsi0"}), []Intent{text("boot", "legacy=cdn")}, nil},
		"memory_by_name":                         {live(keys{"memory": "current=4096"}), []Intent{text("memory", "4096")}, nil},
		"balloon_off_is_not_absent":              {live(nil), []Intent{text("balloon", "0")}, []string{"balloon set 0 [live]"}},
		"balloon_absent_is_not_off":              {live(keys{"balloon": "0"}), []Intent{absent("balloon")}, []string{"balloon delete [live]"}},
		"agent_off_makes_the_rest_idle":          {live(keys{"agent": "0,fstrim_cloned_disks=1"}), []Intent{text("agent", "enabled=0,type=isa")}, nil},
		"agent_off_is_absent":                    {live(nil), []Intent{text("agent", "0")}, nil},
		"agent_freeze_has_three_names":           {live(keys{"agent": "1,freeze-fs=0"}), []Intent{text("agent", "1,guest-fsfreeze=0")}, nil},
		"cpu_default_is_kvm64":                   {live(nil), []Intent{text("cpu", "cputype=kvm64,hidden=0")}, nil},
		"cpu_flags_are_a_set":                    {live(keys{"cpu": "host,flags=+aes;-pcid"}), []Intent{text("cpu", "flags=-pcid;+aes,cputype=host")}, nil},
		"vga_default_is_std":                     {live(nil), []Intent{text("vga", "std")}, nil},
		"audio_driver_by_default":                {live(keys{"audio0": "device=AC97"}), []Intent{text("audio0", "driver=spice,device=AC97")}, nil},
		"rng_without_its_name":                   {live(keys{"rng0": "source=/dev/urandom"}), []Intent{text("rng0", "/dev/urandom,period=1000")}, nil},
		"watchdog_without_its_name":              {live(keys{"watchdog": "i6300esb"}), []Intent{text("watchdog", "model=i6300esb,action=reset")}, nil},
		"watchdog_of_defaults_is_written":        {live(nil), []Intent{text("watchdog", "action=reset")}, []string{"watchdog set action=reset [live]"}},
		"startup_order_without_its_name":         {live(keys{"startup": "1"}), []Intent{text("startup", "order=1")}, nil},
		"hotplug_one_is_the_default_set":         {live(keys{"hotplug": "1"}), []Intent{text("hotplug", "usb,disk,network")}, nil},
		"hotplug_absent_is_the_default_set":      {live(nil), []Intent{text("hotplug", "network,disk,usb")}, nil},
		"hotplug_off_is_a_value":                 {live(keys{"hotplug": "0"}), []Intent{text("hotplug", "1")}, []string{"hotplug set 1 [live]"}},
		"smbios_uuid_is_made":                    {live(keys{"smbios1": "uuid=de0a1108-0b75-45b8-8c5c-031b061ab62c"}), []Intent{subs("smbios1", "base64=0")}, nil},
		"smbios_in_base64":                       {live(keys{"smbios1": "base64=1,manufacturer=Rm9v,uuid=de0a1108-0b75-45b8-8c5c-031b061ab62c"}), []Intent{subs("smbios1", "manufacturer=Foo")}, nil},
		"smbios_in_clear":                        {live(keys{"smbios1": "manufacturer=Foo"}), []Intent{text("smbios1", "manufacturer=Rm9v,base64=1")}, nil},
		"smbios_said_to_be_in_clear":             {live(keys{"smbios1": "base64=0,manufacturer=Rm9v"}), []Intent{subs("smbios1", "manufacturer=Rm9v")}, nil},
		"smbios_wanted_in_base64":                {live(keys{"smbios1": "manufacturer=Foo"}), []Intent{subs("smbios1", "manufacturer=Rm9v", "base64=1")}, nil},
		"smbios_with_blanks_is_encoded":          {live(keys{"smbios1": "uuid=de0a1108-0b75-45b8-8c5c-031b061ab62c"}), []Intent{subs("smbios1", "product=My PC")}, []string{"smbios1 set uuid=de0a1108-0b75-45b8-8c5c-031b061ab62c,product=TXkgUEM=,base64=1 [live]"}},
		"vmgenid_one_asks_for_any":               {live(keys{"vmgenid": "955b0b83-01de-44e4-bad5-6171d2d0bf34"}), []Intent{text("vmgenid", "1")}, nil},
		"vmgenid_is_root_only":                   {live(keys{"vmgenid": "955b0b83-01de-44e4-bad5-6171d2d0bf34"}), []Intent{text("vmgenid", "0")}, []string{"vmgenid none [impossible] " + byRoot().note}},
		"meta_is_kept_by_proxmox":                {live(keys{"meta": "creation-qemu=10.0.13,ctime=1795212031"}), []Intent{text("meta", "ctime=1")}, []string{"meta none [impossible] only Proxmox writes it"}},
		"internal_keys_are_no_drift": {live(keys{
			"lock": "backup", "parent": "before", "snaptime": "1795212031", "vmstate": "local:201/vm-201-state-before.raw", "runningmachine": "pc-i440fx-10.0+pve0",
			"runningcpu": "kvm64,enforce", "running-nets-host-mtu": "net0=1500", "snapstate": "delete", "digest": "7b1b4fdce0cd3712500200528dad35b1a7b560fe",
		}), []Intent{text("onboot", "0")}, nil},
		"machine_is_pinned_to_a_version":            {live(keys{"machine": "pc-q35-9.2+pve1"}), []Intent{text("machine", "q35")}, nil},
		"machine_default_is_a_version_of_pc":        {live(keys{"machine": "pc-i440fx-10.0+pve1"}), []Intent{text("machine", "type=pc")}, nil},
		"cpuunits_are_clamped":                      {live(keys{"cpuunits": "10000"}), []Intent{text("cpuunits", "262144")}, nil},
		"cpuunits_absent_is_100":                    {live(nil), []Intent{text("cpuunits", "100")}, nil},
		"numbers_with_a_fraction":                   {live(keys{"cpulimit": "1.50", "migrate_downtime": "0.1"}), []Intent{text("cpulimit", "1.5"), text("migrate_downtime", "0.10")}, nil},
		"defaults_said_are_stored":                  {live(keys{"cores": "1", "onboot": "0", "protection": "0", "sockets": "1"}), []Intent{absent("cores"), absent("onboot"), absent("protection"), absent("sockets")}, nil},
		"defaults_left_out_are_the_same":            {live(nil), []Intent{text("cores", "1"), text("kvm", "1"), text("acpi", "1"), text("tablet", "1"), text("numa", "0"), text("ciupgrade", "1"), text("memory", "512"), text("onboot", "0"), text("ostype", "other"), text("bios", "seabios"), text("scsihw", "lsi"), text("shares", "1000"), text("reboot", "1")}, nil},
		"localtime_absent_depends_on_the_system":    {live(nil), []Intent{text("localtime", "0")}, []string{"localtime set 0 [live]"}},
		"sshkeys_with_blank_lines_and_comments":     {live(keys{"sshkeys": "%23%20ops%0A%0Assh-ed25519%20AAAA%20a%0A"}), []Intent{text("sshkeys", "ssh-ed25519%20AAAA%20a")}, nil},
		"cipassword_shows_no_difference":            {live(keys{"cipassword": "**********"}), []Intent{text("cipassword", "another")}, nil},
		"cipassword_pending_is_masked_with_a_blank": {running(keys{"cipassword": "? ********** "}), []Intent{text("cipassword", "$5$a$b")}, []string{"cipassword none [restart] waits restart needed"}},
		"nameserver_keeps_its_separators":           {live(keys{"nameserver": "1.1.1.1;8.8.8.8"}), []Intent{text("nameserver", "1.1.1.1 8.8.8.8")}, nil},
		"nameserver_order_counts":                   {live(keys{"nameserver": "1.1.1.1 8.8.8.8"}), []Intent{text("nameserver", "8.8.8.8 1.1.1.1")}, []string{"nameserver set 8.8.8.8 1.1.1.1 [live]"}},
		"searchdomain_keeps_its_separators":         {live(keys{"searchdomain": "a.com,b.com"}), []Intent{text("searchdomain", "a.com b.com")}, nil},
		"ipconfig_absent_is_dhcp":                   {live(nil), []Intent{text("ipconfig0", "ip=dhcp")}, nil},
		"ipconfig_in_other_digits":                  {live(keys{"ipconfig0": "ip6=FD00:0:0::5/64,gw6=FD00::1"}), []Intent{text("ipconfig0", "gw6=fd00::1,ip6=fd00::5/64")}, nil},
		"cicustom_in_another_order":                 {live(keys{"cicustom": "vendor=local:snippets/v.yaml,user=local:snippets/u.yaml"}), []Intent{text("cicustom", "user=local:snippets/u.yaml,vendor=local:snippets/v.yaml")}, nil},
		"hostpci_without_its_domain":                {live(keys{"hostpci0": "0000:01:00.0;0000:01:00.1,pcie=1"}), []Intent{text("hostpci0", "host=01:00.1;01:00.0,pcie=on")}, nil},
		"hostpci_by_mapping":                        {live(keys{"hostpci0": "mapping=gpu,rombar=1"}), []Intent{text("hostpci0", "mapping=gpu,driver=vfio")}, nil},
		"usb_spice_in_any_case":                     {live(keys{"usb0": "SPICE"}), []Intent{text("usb0", "host=spice,usb3=0")}, nil},
		"usb_with_or_without_0x":                    {live(keys{"usb0": "0x1D6B:0x0002"}), []Intent{text("usb0", "host=1d6b:0002")}, nil},
		"serial_is_text":                            {live(keys{"serial0": "socket"}), []Intent{text("serial0", "socket")}, nil},
		"args_are_text":                             {live(keys{"args": "-foo  bar"}), []Intent{text("args", "-foo bar")}, []string{"args none [impossible] " + byRoot().note}},
		"numa_cpus_as_ranges":                       {live(keys{"numa0": "cpus=0;1,memory=512"}), []Intent{text("numa0", "memory=512.0,cpus=0-1")}, nil},
		"affinity_as_ranges":                        {live(keys{"affinity": "0-1,5"}), []Intent{text("affinity", "5,0,1")}, nil},
		"template_is_one_way":                       {live(keys{"template": "1"}), []Intent{text("template", "0")}, []string{"template none [impossible] only Proxmox writes it"}},
		"rollback_sets_parent_and_vmgenid": {
			live(keys{"parent": "before", "vmgenid": "955b0b83-01de-44e4-bad5-6171d2d0bf34", "description": "of today", "cores": "2"}),
			[]Intent{text("cores", "2"), text("description", "of today")},
			nil,
		},
		"clone_in_progress_reads_as_a_lock": {live(keys{"lock": "clone", "description": "qmclone temporary file"}), []Intent{text("onboot", "0")}, nil},
		"ostype_of_windows_pins_the_machine": {
			running(keys{"ostype": "l26 ? win10", "machine": "? pc-i440fx-10.0+pve1"}),
			[]Intent{text("machine", "pc"), text("ostype", "win10")},
			[]string{"ostype none [restart] waits restart needed"},
		},
	})
}

// TestQuirkOfContainerKey is TestQuirkOfVirtualMachineKey for containers.
func TestQuirkOfContainerKey(t *testing.T) {
	ct := func(k keys) Observed { return container(live(k)) }
	const veth = "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:7B:8E:E5,type=veth"
	runDiff(t, map[string]diffTest{
		"description_gains_a_newline":           {ct(keys{"description": "50%\n"}), []Intent{text("description", "50%")}, nil},
		"hostname_is_made":                      {ct(keys{"hostname": "CT201"}), nil, nil},
		"hostname_is_the_configured_one":        {ct(nil), []Intent{text("hostname", "CT201")}, []string{"hostname set CT201 [live]"}},
		"memory_and_swap_are_written_by_create": {ct(keys{"memory": "512", "swap": "512"}), []Intent{text("memory", "512")}, nil},
		"memory_cannot_be_deleted":              {ct(keys{"memory": "1024"}), []Intent{absent("memory")}, []string{"memory set 512 [live]"}},
		"swap_absent_is_none":                   {ct(nil), []Intent{text("swap", "0")}, nil},
		"net_gains_address_and_type":            {ct(keys{"net0": veth}), []Intent{text("net0", "name=eth0,bridge=vmbr0")}, nil},
		"net_is_not_filled_in_while_it_waits": {
			container(running(keys{"net0": veth + " ? name=eth0,bridge=vmbr1"})),
			[]Intent{subs("net0", "bridge=vmbr1")},
			[]string{"net0 none [restart] waits restart needed"},
		},
		"net_keeps_its_address_when_rewritten": {
			ct(keys{"net0": veth}), []Intent{text("net0", "name=eth0,bridge=vmbr1")}, []string{"net0 set name=eth0,bridge=vmbr1,hwaddr=BC:24:11:7B:8E:E5,type=veth [live]"},
		},
		"nameserver_commas_become_blanks":   {ct(keys{"nameserver": "1.1.1.1 8.8.8.8"}), []Intent{text("nameserver", "1.1.1.1,8.8.8.8")}, nil},
		"searchdomain_commas_become_blanks": {ct(keys{"searchdomain": "a.b c.d"}), []Intent{text("searchdomain", "a.b,c.d")}, nil},
		"rootfs_of_a_pool":                  {ct(keys{"rootfs": "zfs:subvol-201-disk-0,size=8G"}), []Intent{subs("rootfs", "storage=zfs", "size=8G")}, nil},
		"rootfs_options_are_a_set":          {ct(keys{"rootfs": "local:201/vm-201-disk-0.raw,mountoptions=nodev;noatime,size=8G"}), []Intent{subs("rootfs", "mountoptions=noatime;nodev")}, nil},
		"rootfs_is_never_replaced":          {ct(keys{"rootfs": "local:201/vm-201-disk-0.raw,size=8G"}), []Intent{text("rootfs", "local:201/vm-201-disk-9.raw")}, []string{"rootfs none [impossible] the root volume of a container cannot be removed"}},
		"mount_of_a_volume":                 {ct(keys{"mp0": "local:201/vm-201-disk-1.raw,mp=/data,size=1G"}), []Intent{text("mp0", "mp=/data,volume=local:201/vm-201-disk-1.raw,backup=0")}, nil},
		"mount_of_the_host_reads_as_it_is":  {ct(keys{"mp0": "/srv,mp=/x"}), []Intent{text("mp0", "/srv,mp=/x")}, nil},
		"mount_of_the_host_is_roots":        {ct(keys{"mp0": "/srv,mp=/x"}), []Intent{text("mp0", "/tmp,mp=/x")}, []string{"mp0 none [impossible] " + byRoot().note}},
		"features_off_are_absent":           {ct(keys{"features": "nesting=1"}), []Intent{text("features", "keyctl=0,nesting=1,fuse=0")}, nil},
		"features_in_another_order":         {ct(keys{"features": "nesting=1,mount=nfs;cifs,keyctl=1"}), []Intent{text("features", "keyctl=1,mount=cifs;nfs,nesting=1")}, nil},
		"ostype_and_arch_are_detected":      {ct(keys{"ostype": "debian", "arch": "amd64"}), nil, nil},
		"ostype_unmanaged_is_kept":          {ct(keys{"ostype": "unmanaged"}), []Intent{text("ostype", "unmanaged")}, nil},
		"unprivileged_absent_is_not":        {ct(nil), []Intent{text("unprivileged", "0")}, nil},
		"unprivileged_cannot_change":        {ct(nil), []Intent{text("unprivileged", "1")}, []string{"unprivileged none [impossible] can only be set when the guest is created"}},
		"password_is_never_read_back":       {ct(nil), []Intent{text("password", "s3cret"), text("ssh-public-keys", "ssh-ed25519 A")}, nil},
		"env_is_separated_by_nul":           {ct(keys{"env": "B=2\x00A=1"}), []Intent{text("env", "A=1\x00B=2")}, nil},
		"env_set_twice_counts_in_order":     {ct(keys{"env": "A=1\x00A=2"}), []Intent{text("env", "A=2\x00A=1")}, []string{"env set A=2\x00A=1 [live]"}},
		"entrypoint_by_default":             {ct(nil), []Intent{text("entrypoint", "/sbin/init")}, nil},
		"raw_lxc_lines_are_left_alone":      {ct(keys{"lxc": `[["lxc.cap.drop","sys_admin"]]`}), nil, nil},
		"raw_lxc_lines_cannot_be_deleted":   {ct(keys{"lxc": `[["lxc.cap.drop","sys_admin"]]`}), []Intent{absent("lxc")}, []string{"lxc none [impossible] only Proxmox writes it"}},
		"dev_by_path":                       {ct(keys{"dev0": "path=/dev/null,deny-write=0"}), []Intent{text("dev0", "/dev/null")}, nil},
		"booleans_are_numbers":              {ct(keys{"console": "1", "debug": "0", "tty": "2"}), []Intent{absent("console"), absent("debug"), absent("tty")}, nil},
		"template_is_one_way":               {ct(keys{"template": "1"}), []Intent{text("template", "0")}, []string{"template none [impossible] only Proxmox writes it"}},
	})
}

// TestQuirkRefused has what Proxmox refuses though it looks right, and what it takes though it looks wrong.
func TestQuirkRefused(t *testing.T) {
	tests := map[string]struct {
		kind      Kind
		key, text string
		want      string // part of the error; "" is accepted
	}{
		"tag_with_colon":                  {VirtualMachine, "tags", "a:b", "a:b"},
		"tag_with_umlaut":                 {VirtualMachine, "tags", "ä", "ä"},
		"tag_with_hyphen_first":           {VirtualMachine, "tags", "-x", "-x"},
		"tag_with_equals":                 {VirtualMachine, "tags", "a=b", "a=b"},
		"tag_with_underscore_first":       {VirtualMachine, "tags", "_x", ""},
		"iso_without_media":               {VirtualMachine, "ide2", "local:iso/tiny.iso", "media=cdrom"},
		"drive_in_allocation_syntax":      {VirtualMachine, "scsi0", "local:1", "existing volume"},
		"ssh_key_with_blank":              {VirtualMachine, "sshkeys", "ssh-ed25519 AAAA", "unencoded"},
		"ssh_key_with_plus_for_blank":     {VirtualMachine, "sshkeys", "ssh-ed25519+AAAA", "unencoded"},
		"ssh_key_with_slash":              {VirtualMachine, "sshkeys", "ssh-ed25519%20AA/A", "unencoded"},
		"ssh_key_with_at":                 {VirtualMachine, "sshkeys", "ssh-ed25519%20AA%20a@b", "unencoded"},
		"nameserver_of_a_virtual_machine": {VirtualMachine, "nameserver", "notanip", ""},
		"nameserver_of_a_container":       {Container, "nameserver", "notanip", "IP address"},
		"boolean_in_words":                {VirtualMachine, "onboot", "true", "0 or 1"},
		"boolean_in_words_in_a_property":  {VirtualMachine, "net0", "virtio,firewall=yes", ""},
		"multicast_address":               {VirtualMachine, "net0", "virtio=01:00:00:00:00:01", "unicast"},
		"tag_of_no_network":               {VirtualMachine, "net0", "virtio,tag=0", "at least 1"},
		"gateway_without_address":         {VirtualMachine, "ipconfig0", "gw=10.0.0.1", "without ip"},
		"address_without_prefix":          {VirtualMachine, "ipconfig0", "ip=10.0.0.5", "prefix"},
		"memory_with_a_fraction":          {VirtualMachine, "memory", "1024.5", "whole number"},
		"virtio_disk_as_ssd":              {VirtualMachine, "virtio0", "local:201/vm-201-disk-0.raw,ssd=1", "ssd"},
		"description_counts_letters":      {VirtualMachine, "description", strings.Repeat("ü", 8192), ""},
		"description_too_long":            {VirtualMachine, "description", strings.Repeat("ü", 8193), "8192"},
		"usb_of_nothing":                  {VirtualMachine, "usb0", "usb3=1", "no host and no mapping"},
		"cdrom":                           {VirtualMachine, "cdrom", "none", "ide2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := Check(test.kind, test.key, test.text)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("check %s %q: got error %v, want one with %q", test.key, test.text, err, test.want)
			}
		})
	}
}
