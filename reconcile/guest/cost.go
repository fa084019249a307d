package guest

import (
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest/form"
)

// Notes of changes: what happens to the guest, in a few words for its owner.
const (
	cloudInitNote  = "cloud-init reruns at the next boot"
	pinnedInitNote = "known to the guest at the next boot, cicustom pins its instance id"
	vendorNote     = "cloud-init reads the vendor file at the next boot, and does not rerun for it"
	memoryNote     = "memory is taken away, programs may be killed"
	guardNote      = "protection off: it can then be deleted"
	flapNote       = "link flap"
	replugNote     = "NIC replugged"
	unpluggedNote  = "NIC removed"
	addressNote    = "its address changes at once"
	dataLostNote   = "data lost: the volume is deleted"
)

// cloudInitCost is the cost of the keys that are part of cloud-init's instance id. Proxmox writes them at once, and nothing is pending.
// But when the guest next starts, cloud-init creates new host keys and runs its per-instance modules. The class is therefore Restart,
// though no reboot is planned. A stopped guest has not used the old values yet.
func cloudInitCost(e edit) (Class, string) {
	note := cloudInitNote
	was := customSyntax.parse(nil, e.live.Keys["cicustom"].Text)
	if e.key == "cicustom" {
		note = customNote(was, customSyntax.parse(nil, e.to))
	} else if was.text("meta") != "" {
		note = pinnedInitNote
	}
	switch {
	case !e.hasCloudInit():
		return Live, ""
	case e.running():
		return Restart, note
	default:
		return Live, note
	}
}

// customNote returns what cloud-init makes of other files. Proxmox's instance id is a hash of the user and the network data, and a file of meta data has its own.
//
// Source: qemu-server, PVE::QemuServer::Cloudinit, nocloud_gen_metadata and configdrive2_gen_metadata.
func customNote(was, is properties) string {
	changed := func(name string) bool { return was.text(name) != is.text(name) }
	switch {
	case changed("meta"):
		return cloudInitNote
	case is.text("meta") != "":
		return pinnedInitNote
	case changed("user") || changed("network"):
		return cloudInitNote
	default:
		return vendorNote
	}
}

// nameCost is the cost of the name of a virtual machine, which is part of cloud-init's instance id.
func nameCost(e edit) (Class, string) { return cloudInitCost(e) }

// protectionCost is Disruptive for removing the protection, running or not: without the protection the guest can be destroyed.
func protectionCost(e edit) (Class, string) {
	if form.Truth(e.to) == "1" {
		return Live, ""
	}
	return Disruptive, guardNote
}

// bootCost is the cost of hardware changes after which an installed system may not boot.
func bootCost(e edit) (Class, string) {
	class, note := e.effectCost()
	if class == Restart {
		note += ", and the guest may not boot as before"
	}
	return class, note
}

// hotplugCost is the cost of the hotplug key. A change that includes memory or cpu waits for the next start, any other is applied at once.
func hotplugCost(e edit) (Class, string) {
	features := e.from + "," + e.to
	if e.running() && (strings.Contains(features, "memory") || strings.Contains(features, "cpu")) {
		return Restart, restartNeeded
	}
	return Live, ""
}

// agentCost is the cost of the agent's options. Only fstrim_cloned_disks applies to a running guest, and only if the agent was configured
// before.
func agentCost(e edit) (Class, string) {
	if e.running() && (e.from == "" || e.to == "" || e.differs("enabled", "type", "freeze-fs-on-backup")) {
		return Restart, restartNeeded
	}
	return Live, ""
}

// memoryCost is the cost of memory. Memory is hotplugged only if the hotplug key names memory and NUMA is on.
func memoryCost(e edit) (Class, string) {
	switch {
	case !e.running():
		return Live, ""
	case !e.hotplugs("memory") || form.Truth(e.live.Keys["numa"].Text) != "1":
		return Restart, restartNeeded
	case shrinks(e.row.Canonical(orDefault(e.from, e.row.absentValue)), e.row.Canonical(orDefault(e.to, e.row.absentValue))):
		return Disruptive, memoryNote
	default:
		return Live, ""
	}
}

// balloonCost is the cost of the balloon target. The balloon device is added and removed only at a start; its target applies at once. If
// the key is absent, the device exists and has all memory.
func balloonCost(e edit) (Class, string) {
	switch {
	case !e.running():
		return Live, ""
	case (e.from == "0") != (e.to == "0"):
		return Restart, restartNeeded
	case e.to != "" && (e.from == "" || shrinks(e.from, e.to)):
		return Disruptive, memoryNote
	default:
		return Live, ""
	}
}

// shrinkCost is the cost of a container's memory and swap, which apply at once.
func shrinkCost(e edit) (Class, string) {
	if from, to := orDefault(e.from, e.row.absentValue), orDefault(e.to, e.row.absentValue); e.running() && shrinks(from, to) {
		return Disruptive, memoryNote
	}
	return Live, ""
}

func orDefault(text, absent string) string {
	if text == "" {
		return absent
	}
	return text
}

// shrinks reports whether to is less than from. It is false for texts that are not numbers.
func shrinks(from, to string) bool {
	a, errA := strconv.ParseInt(from, 10, 64)
	b, errB := strconv.ParseInt(to, 10, 64)
	return errA == nil && errB == nil && b < a
}

// cardCost follows vmconfig_update_net in qemu-server's QemuServer.pm. The MAC address of a card that has an ipconfig is part of
// cloud-init's instance id as well.
func cardCost(e edit) (Class, string) {
	class, note := e.cardClass()
	configured := !isBlank(e.live.Keys["ipconfig"+strings.TrimPrefix(e.key, "net")].Text)
	if configured && (e.from == "" || e.to == "" || e.differs("macaddr")) && e.hasCloudInit() {
		note = strings.TrimPrefix(note+"; "+cloudInitNote, "; ")
	}
	return class, note
}

func (e edit) cardClass() (Class, string) {
	replugs := e.from == "" || e.to == "" || e.differs("model", "macaddr", "queues", "mtu") || e.lacksBridge()
	switch {
	case !e.running():
		return Live, ""
	case replugs && !e.appliesLive():
		return Restart, restartNeeded
	case e.from == "":
		return Live, ""
	case e.to == "":
		return Disruptive, unpluggedNote
	case replugs:
		return Disruptive, replugNote
	case e.differs("bridge", "tag", "trunks", "firewall"):
		return Disruptive, flapNote
	default:
		return Live, ""
	}
}

// lacksBridge reports whether a card has no bridge before or after the edit.
func (e edit) lacksBridge() bool {
	from, to := e.parts()
	return from.text("bridge") == "" || to.text("bridge") == ""
}

// vethCost follows update_net in pve-container's LXC.pm. Removing net10 and above waits for a start.
func vethCost(e edit) (Class, string) {
	switch {
	case !e.running() || e.from == "":
		return Live, ""
	case e.to == "" && len(e.key) > len("net0"):
		return Restart, restartNeeded
	case e.to == "":
		return Disruptive, unpluggedNote
	case e.differs("name", "hwaddr"):
		return Disruptive, replugNote
	case e.differs("bridge", "tag", "firewall"):
		return Disruptive, flapNote
	case e.differs("ip", "gw", "ip6", "gw6"):
		return Disruptive, addressNote
	case e.differs("mtu", "trunks", "host-managed"):
		return Restart, restartNeeded
	default:
		return Live, ""
	}
}

// usbCost is the cost of USB devices. A running guest accepts a new device only if its ostype is known to support hotplug.
func usbCost(e edit) (Class, string) {
	able := []string{"l26", "win8", "win10", "win11"}
	switch {
	case !e.running():
		return Live, ""
	case !e.appliesLive() || !slices.Contains(able, e.live.Keys["ostype"].Text):
		return Restart, restartNeeded
	case e.from == "":
		return Live, ""
	default:
		return Disruptive, "device unplugged"
	}
}

// unusedCost is Destructive: deleting the key of an unused volume deletes the volume.
func unusedCost(edit) (Class, string) { return Destructive, dataLostNote }
