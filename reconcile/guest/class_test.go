package guest

import (
	"maps"
	"testing"
)

func TestClassOfRunningVirtualMachine(t *testing.T) {
	initiated := func(more keys) Observed {
		all := keys{"ide2": liveInit, "ostype": "l26"}
		maps.Copy(all, more)
		return running(all)
	}
	runDiff(t, map[string]diffTest{
		"live_key":            {running(nil), []Intent{text("description", "x")}, []string{"description set x [live]"}},
		"restart_key":         {running(nil), []Intent{text("cores", "2")}, []string{"cores set 2 [restart] restart needed"}},
		"restart_key_stopped": {live(nil), []Intent{text("cores", "2")}, []string{"cores set 2 [live]"}},
		"boot_hardware":       {running(nil), []Intent{text("bios", "ovmf")}, []string{"bios set ovmf [restart] restart needed, and the guest may not boot as before"}},
		"protection_on":       {running(nil), []Intent{text("protection", "1")}, []string{"protection set 1 [live]"}},
		"protection_off":      {live(keys{"protection": "1"}), []Intent{text("protection", "0")}, []string{"protection set 0 [disruptive] " + guardNote}},
		"protection_unset":    {live(keys{"protection": "1"}), []Intent{absent("protection")}, []string{"protection delete [disruptive] " + guardNote}},

		"nic_new":           {running(nil), []Intent{subs("net1", "model=virtio", "bridge=vmbr0")}, []string{"net1 set virtio,bridge=vmbr0 [live]"}},
		"nic_new_unplugged": {running(keys{"hotplug": "disk"}), []Intent{subs("net1", "model=virtio", "bridge=vmbr0")}, []string{"net1 set virtio,bridge=vmbr0 [restart] restart needed"}},
		"nic_mac":           {running(keys{"net0": liveCard}), []Intent{subs("net0", "macaddr=BC:24:11:AA:00:02")}, []string{"net0 set virtio=BC:24:11:AA:00:02,bridge=vmbr0,firewall=1 [disruptive] " + replugNote}},
		"nic_mac_unplugged": {running(keys{"net0": liveCard, "hotplug": "0"}), []Intent{subs("net0", "macaddr=BC:24:11:AA:00:02")}, []string{"net0 set virtio=BC:24:11:AA:00:02,bridge=vmbr0,firewall=1 [restart] restart needed"}},
		"nic_bridge":        {running(keys{"net0": liveCard}), []Intent{subs("net0", "bridge=vmbr1")}, []string{"net0 set virtio=BC:24:11:AA:00:01,bridge=vmbr1,firewall=1 [disruptive] " + flapNote}},
		"nic_bridge_gone":   {running(keys{"net0": liveCard}), []Intent{subs("net0", "bridge=")}, []string{"net0 set virtio=BC:24:11:AA:00:01,firewall=1 [disruptive] " + replugNote}},
		"nic_rate":          {running(keys{"net0": liveCard}), []Intent{subs("net0", "rate=10")}, []string{"net0 set virtio=BC:24:11:AA:00:01,bridge=vmbr0,firewall=1,rate=10 [live]"}},
		"nic_link_down":     {running(keys{"net0": liveCard}), []Intent{subs("net0", "link_down=1")}, []string{"net0 set virtio=BC:24:11:AA:00:01,bridge=vmbr0,firewall=1,link_down=1 [live]"}},
		"nic_removed":       {running(keys{"net0": liveCard}), []Intent{absent("net0")}, []string{"net0 delete [disruptive] " + unpluggedNote}},
		"nic_stopped":       {live(keys{"net0": liveCard}), []Intent{subs("net0", "bridge=vmbr1", "model=e1000")}, []string{"net0 set e1000=BC:24:11:AA:00:01,bridge=vmbr1,firewall=1 [live]"}},

		"disk_new":           {running(nil), []Intent{subs("scsi1", "storage=local", "size=1G")}, []string{"scsi1 set local:1 [live]"}},
		"disk_new_unplugged": {running(keys{"hotplug": "network"}), []Intent{subs("virtio1", "storage=local", "size=1G")}, []string{"virtio1 set local:1 [restart] restart needed"}},
		"disk_new_sata":      {running(nil), []Intent{subs("sata1", "storage=local", "size=1G")}, []string{"sata1 set local:1 [restart] restart needed"}},
		"disk_discard":       {running(keys{"scsi0": liveDisk}), []Intent{subs("scsi0", "discard=ignore")}, []string{"scsi0 set local-lvm:vm-201-disk-0,discard=ignore,size=32G [restart] restart needed"}},
		"disk_throttle":      {running(keys{"scsi0": liveDisk}), []Intent{subs("scsi0", "iops_rd=100", "backup=0")}, []string{"scsi0 set local-lvm:vm-201-disk-0,discard=on,size=32G,backup=0,iops_rd=100 [live]"}},
		"disk_mixed":         {running(keys{"scsi0": liveDisk}), []Intent{subs("scsi0", "iops_rd=100", "ssd=1")}, []string{"scsi0 set local-lvm:vm-201-disk-0,discard=on,size=32G,iops_rd=100,ssd=1 [restart] restart needed"}},
		"sata_throttle":      {running(keys{"sata0": liveDisk}), []Intent{subs("sata0", "iops_rd=100")}, []string{"sata0 set local-lvm:vm-201-disk-0,discard=on,size=32G,iops_rd=100 [live]"}},

		"cloud_init_key":          {initiated(nil), []Intent{text("ciuser", "ops")}, []string{"ciuser set ops [restart] " + cloudInitNote}},
		"cloud_init_key_no_drive": {running(nil), []Intent{text("ciuser", "ops")}, []string{"ciuser set ops [live]"}},
		"cloud_init_key_stopped":  {live(keys{"ide2": liveInit}), []Intent{text("ciuser", "ops")}, []string{"ciuser set ops [live] " + cloudInitNote}},
		"name_with_cloud_init":    {initiated(keys{"name": "a"}), []Intent{text("name", "b")}, []string{"name set b [restart] " + cloudInitNote}},
		"cloud_init_pinned":       {initiated(keys{"cicustom": "meta=local:snippets/m.yaml"}), []Intent{text("ciuser", "ops")}, []string{"ciuser set ops [restart] " + pinnedInitNote}},
		"vendor_file":             {initiated(nil), []Intent{subs("cicustom", "vendor=local:snippets/v.yaml")}, []string{"cicustom set vendor=local:snippets/v.yaml [restart] " + vendorNote}},
		"user_file":               {initiated(keys{"cicustom": "vendor=local:snippets/v.yaml"}), []Intent{text("cicustom", "user=local:snippets/u.yaml")}, []string{"cicustom set user=local:snippets/u.yaml [restart] " + cloudInitNote}},
		"user_file_pinned":        {initiated(keys{"cicustom": "meta=local:snippets/m.yaml"}), []Intent{text("cicustom", "meta=local:snippets/m.yaml,user=local:snippets/u.yaml")}, []string{"cicustom set meta=local:snippets/m.yaml,user=local:snippets/u.yaml [restart] " + pinnedInitNote}},
		"meta_file":               {initiated(keys{"cicustom": "meta=local:snippets/m.yaml"}), []Intent{text("cicustom", "meta=local:snippets/n.yaml")}, []string{"cicustom set meta=local:snippets/n.yaml [restart] " + cloudInitNote}},
		"nic_mac_with_cloud_init": {initiated(keys{"net0": liveCard, "ipconfig0": "ip=dhcp"}), []Intent{subs("net0", "macaddr=BC:24:11:AA:00:02")}, []string{"net0 set virtio=BC:24:11:AA:00:02,bridge=vmbr0,firewall=1 [disruptive] " + replugNote + "; " + cloudInitNote}},
		"nic_without_ipconfig":    {initiated(nil), []Intent{subs("net1", "model=virtio", "bridge=vmbr0")}, []string{"net1 set virtio,bridge=vmbr0 [live]"}},
		"nic_new_with_cloud_init": {initiated(keys{"ipconfig1": "ip=dhcp"}), []Intent{subs("net1", "model=virtio", "bridge=vmbr0")}, []string{"net1 set virtio,bridge=vmbr0 [live] " + cloudInitNote}},
		"nic_tag_with_cloud_init": {initiated(keys{"net0": liveCard}), []Intent{subs("net0", "tag=5")}, []string{"net0 set virtio=BC:24:11:AA:00:01,bridge=vmbr0,firewall=1,tag=5 [disruptive] " + flapNote}},
		"name_alone":              {running(keys{"name": "a"}), []Intent{text("name", "b")}, []string{"name set b [live]"}},

		"memory":               {running(keys{"memory": "512"}), []Intent{text("memory", "1024")}, []string{"memory set 1024 [restart] restart needed"}},
		"memory_plugged":       {running(keys{"memory": "512", "hotplug": "memory", "numa": "1"}), []Intent{text("memory", "1024")}, []string{"memory set 1024 [live]"}},
		"memory_unplugged":     {running(keys{"memory": "current=1024", "hotplug": "memory", "numa": "1"}), []Intent{text("memory", "512")}, []string{"memory set 512 [disruptive] " + memoryNote}},
		"memory_below_default": {running(keys{"hotplug": "memory", "numa": "1"}), []Intent{text("memory", "256")}, []string{"memory set 256 [disruptive] " + memoryNote}},
		"memory_without_numa":  {running(keys{"memory": "512", "hotplug": "memory"}), []Intent{text("memory", "1024")}, []string{"memory set 1024 [restart] restart needed"}},
		"balloon_off":          {running(keys{"balloon": "128"}), []Intent{text("balloon", "0")}, []string{"balloon set 0 [restart] restart needed"}},
		"balloon_on":           {running(keys{"balloon": "0"}), []Intent{text("balloon", "128")}, []string{"balloon set 128 [restart] restart needed"}},
		"balloon_down":         {running(keys{"balloon": "256"}), []Intent{text("balloon", "128")}, []string{"balloon set 128 [disruptive] " + memoryNote}},
		"balloon_up":           {running(keys{"balloon": "128"}), []Intent{text("balloon", "256")}, []string{"balloon set 256 [live]"}},
		"vcpus_plugged":        {running(keys{"hotplug": "cpu"}), []Intent{text("vcpus", "2")}, []string{"vcpus set 2 [live]"}},
		"vcpus":                {running(nil), []Intent{text("vcpus", "2")}, []string{"vcpus set 2 [restart] restart needed"}},
		"hotplug_plain":        {running(nil), []Intent{text("hotplug", "network")}, []string{"hotplug set network [live]"}},
		"hotplug_memory":       {running(nil), []Intent{text("hotplug", "network,memory")}, []string{"hotplug set network,memory [restart] restart needed"}},
		"agent_trim":           {running(keys{"agent": "1"}), []Intent{subs("agent", "fstrim_cloned_disks=1")}, []string{"agent set 1,fstrim_cloned_disks=1 [live]"}},
		"agent_type":           {running(keys{"agent": "1"}), []Intent{subs("agent", "type=isa")}, []string{"agent set 1,type=isa [restart] restart needed"}},
		"agent_new":            {running(nil), []Intent{subs("agent", "enabled=1")}, []string{"agent set 1 [restart] restart needed"}},
		"usb_new":              {running(keys{"ostype": "l26"}), []Intent{subs("usb0", "mapping=zigbee")}, []string{"usb0 set mapping=zigbee [live]"}},
		"usb_old_system":       {running(keys{"ostype": "wxp"}), []Intent{subs("usb0", "mapping=zigbee")}, []string{"usb0 set mapping=zigbee [restart] restart needed"}},
		"usb_removed":          {running(keys{"ostype": "l26", "usb0": "spice"}), []Intent{absent("usb0")}, []string{"usb0 delete [disruptive] device unplugged"}},
	})
}

func TestClassOfRunStates(t *testing.T) {
	tests := map[string]struct {
		status   Status
		template bool
		want     Class
	}{
		"running":  {StatusRunning, false, Restart},
		"paused":   {StatusPaused, false, Restart},
		"unknown":  {StatusUnknown, false, Restart},
		"stopped":  {StatusStopped, false, Live},
		"template": {StatusUnknown, true, Live},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := live(nil)
			o.Status, o.Template = test.status, test.template
			got := Diff(want(o, text("cores", "2")), o)
			if len(got) != 1 || got[0].Class != test.want {
				t.Errorf("changes: got %v, want class %s", briefs(got), test.want)
			}
		})
	}
}

func TestClassOfRunningContainer(t *testing.T) {
	const veth = "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:98:67:42,ip=10.1.0.7/24,type=veth"
	ct := func(k keys) Observed { return container(running(k)) }
	runDiff(t, map[string]diffTest{
		"cores":              {ct(keys{"cores": "1"}), []Intent{text("cores", "2")}, []string{"cores set 2 [live]"}},
		"memory_up":          {ct(keys{"memory": "256"}), []Intent{text("memory", "512")}, []string{"memory set 512 [live]"}},
		"memory_down":        {ct(keys{"memory": "512"}), []Intent{text("memory", "256")}, []string{"memory set 256 [disruptive] " + memoryNote}},
		"memory_default":     {ct(keys{"memory": "1024"}), []Intent{absent("memory")}, []string{"memory set 512 [disruptive] " + memoryNote}},
		"swap_off":           {ct(keys{"swap": "512"}), []Intent{absent("swap")}, []string{"swap delete [disruptive] " + memoryNote}},
		"swap_down_stopped":  {container(live(keys{"swap": "512"})), []Intent{text("swap", "0")}, []string{"swap set 0 [live]"}},
		"tty":                {ct(nil), []Intent{text("tty", "3")}, []string{"tty set 3 [restart] restart needed"}},
		"nameserver":         {ct(nil), []Intent{text("nameserver", "9.9.9.9")}, []string{"nameserver set 9.9.9.9 [restart] restart needed"}},
		"unprivileged":       {ct(keys{"unprivileged": "1"}), []Intent{text("unprivileged", "0")}, []string{"unprivileged none [impossible] can only be set when the guest is created"}},
		"nesting":            {ct(keys{"unprivileged": "1"}), []Intent{subs("features", "nesting=1")}, []string{"features set nesting=1 [restart] restart needed"}},
		"nesting_privileged": {ct(nil), []Intent{subs("features", "nesting=1")}, []string{"features none [impossible] " + byRoot().note}},
		"keyctl":             {ct(keys{"unprivileged": "1"}), []Intent{subs("features", "keyctl=1", "nesting=1")}, []string{"features set nesting=1 [restart] restart needed", "features none [impossible] " + byRoot().note}},
		"veth_address":       {ct(keys{"net0": veth}), []Intent{subs("net0", "ip=10.1.0.8/24")}, []string{"net0 set name=eth0,bridge=vmbr0,hwaddr=BC:24:11:98:67:42,ip=10.1.0.8/24,type=veth [disruptive] " + addressNote}},
		"veth_bridge":        {ct(keys{"net0": veth}), []Intent{subs("net0", "bridge=vmbr1")}, []string{"net0 set name=eth0,bridge=vmbr1,hwaddr=BC:24:11:98:67:42,ip=10.1.0.7/24,type=veth [disruptive] " + flapNote}},
		"veth_name":          {ct(keys{"net0": veth}), []Intent{subs("net0", "name=eth9")}, []string{"net0 set name=eth9,bridge=vmbr0,hwaddr=BC:24:11:98:67:42,ip=10.1.0.7/24,type=veth [disruptive] " + replugNote}},
		"veth_mtu":           {ct(keys{"net0": veth}), []Intent{subs("net0", "mtu=1400")}, []string{"net0 set name=eth0,bridge=vmbr0,hwaddr=BC:24:11:98:67:42,ip=10.1.0.7/24,type=veth,mtu=1400 [restart] restart needed"}},
		"veth_rate":          {ct(keys{"net0": veth}), []Intent{subs("net0", "rate=5")}, []string{"net0 set name=eth0,bridge=vmbr0,hwaddr=BC:24:11:98:67:42,ip=10.1.0.7/24,type=veth,rate=5 [live]"}},
		"veth_removed":       {ct(keys{"net0": veth}), []Intent{absent("net0")}, []string{"net0 delete [disruptive] " + unpluggedNote}},
		"veth_10_removed":    {ct(keys{"net10": veth}), []Intent{absent("net10")}, []string{"net10 delete [restart] restart needed"}},
	})
}

func TestRootOnlyKeysAreImpossible(t *testing.T) {
	runDiff(t, map[string]diffTest{
		"args":           {live(nil), []Intent{text("args", "-foo")}, []string{"args none [impossible] " + byRoot().note}},
		"args_delete":    {live(keys{"args": "-foo"}), []Intent{absent("args")}, []string{"args none [impossible] " + byRoot().note}},
		"args_hold":      {live(keys{"args": "-foo"}), []Intent{text("args", "-foo")}, nil},
		"serial_socket":  {live(nil), []Intent{text("serial0", "socket")}, []string{"serial0 set socket [live]"}},
		"serial_device":  {live(nil), []Intent{text("serial0", "/dev/ttyS0")}, []string{"serial0 none [impossible] " + byRoot().note}},
		"usb_spice":      {live(nil), []Intent{subs("usb0", "host=spice")}, []string{"usb0 set spice [live]"}},
		"usb_device":     {live(nil), []Intent{subs("usb0", "host=1-1")}, []string{"usb0 none [impossible] " + byRoot().note}},
		"pci_mapping":    {live(nil), []Intent{subs("hostpci0", "mapping=gpu", "pcie=1")}, []string{"hostpci0 set mapping=gpu,pcie=1 [live]"}},
		"pci_device":     {live(nil), []Intent{subs("hostpci0", "host=0000:00:02.0")}, []string{"hostpci0 none [impossible] " + byRoot().note}},
		"proxmox_own":    {live(keys{"meta": "creation-qemu=10.0.13"}), []Intent{text("meta", "x")}, []string{"meta none [impossible] only Proxmox writes it"}},
		"template_state": {live(nil), []Intent{text("template", "1")}, []string{"template none [impossible] only Proxmox writes it"}},
	})
}
