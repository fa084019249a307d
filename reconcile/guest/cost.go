package guest

import (
	"slices"
	"strconv"
	"strings"
)

// What happens to a guest, in a few words for whoever owns it.
const (
	cloudInitNote  = "cloud-init reruns at the next boot"
	pinnedInitNote = "known to the guest at the next boot, cicustom pins its instance id"
	memoryNote     = "memory is taken away, programs may be killed"
	guardNote      = "protection off: it can then be deleted"
	flapNote       = "link flap"
	replugNote     = "NIC replugged"
	unpluggedNote  = "NIC removed"
	addressNote    = "its address changes at once"
	dataLostNote   = "data lost: the volume is deleted"
)

// cloudInitCost is that of the keys that cloud-init's instance id is made of. They are written at once and wait nowhere, but
// when the guest next starts it renews its host keys and runs its per-instance modules: a Restart, though no reboot is
// planned for it. A stopped guest has not begun to use the old values.
func cloudInitCost(e edit) (Class, string) {
	note := cloudInitNote
	if customSyntax.parse(nil, e.live.Keys["cicustom"].Text).text("meta") != "" && e.key != "cicustom" {
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

// nameCost: the name of a virtual machine is part of cloud-init's instance id.
func nameCost(e edit) (Class, string) { return cloudInitCost(e) }

// protectionCost: taking the protection away opens the way to destroying the guest, running or not.
func protectionCost(e edit) (Class, string) {
	if truth(e.to) == "1" {
		return Live, ""
	}
	return Disruptive, guardNote
}

// bootCost is that of hardware that an installed system may not boot on.
func bootCost(e edit) (Class, string) {
	class, note := e.effectCost()
	if class == Restart {
		note += ", and the guest may not boot as before"
	}
	return class, note
}

// hotplugCost: a change that involves memory or cpu waits for the next start, any other applies at once.
func hotplugCost(e edit) (Class, string) {
	features := e.from + "," + e.to
	if e.running() && (strings.Contains(features, "memory") || strings.Contains(features, "cpu")) {
		return Restart, restartNeeded
	}
	return Live, ""
}

// agentCost: of the agent's options one alone reaches a running guest, and only if the agent was configured before.
func agentCost(e edit) (Class, string) {
	if e.running() && (e.from == "" || e.to == "" || e.differs("enabled", "type", "freeze-fs-on-backup")) {
		return Restart, restartNeeded
	}
	return Live, ""
}

// memoryCost: memory is plugged into a running virtual machine only if hotplug names it and NUMA is on.
func memoryCost(e edit) (Class, string) {
	switch {
	case !e.running():
		return Live, ""
	case !e.hotplugs("memory") || truth(e.live.Keys["numa"].Text) != "1":
		return Restart, restartNeeded
	case shrinks(e.row.canonical(orDefault(e.from, e.row.absentValue)), e.row.canonical(orDefault(e.to, e.row.absentValue))):
		return Disruptive, memoryNote
	default:
		return Live, ""
	}
}

// balloonCost: the balloon device itself comes and goes at a start; its target is followed at once. An absent key has the
// device, and all memory.
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

// shrinkCost is that of a container's memory and swap, which follow at once.
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

// shrinks reports whether to is less than from; texts that are no numbers do not shrink.
func shrinks(from, to string) bool {
	a, errA := strconv.ParseInt(from, 10, 64)
	b, errB := strconv.ParseInt(to, 10, 64)
	return errA == nil && errB == nil && b < a
}

// cardCost is the rule of vmconfig_update_net in qemu-server's QemuServer.pm. The addresses of the cards are part of cloud-init's
// instance id as well.
func cardCost(e edit) (Class, string) {
	class, note := e.cardClass()
	if (e.from == "" || e.to == "" || e.differs("macaddr")) && e.hasCloudInit() {
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

// lacksBridge reports whether a card is without a bridge before or after the edit.
func (e edit) lacksBridge() bool {
	from, to := e.parts()
	return from.text("bridge") == "" || to.text("bridge") == ""
}

// vethCost is the rule of update_net in pve-container's LXC.pm. Removing a card of two digits waits for a start.
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

// usbCost: a running guest takes a new device only if its system is known to cope.
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

// unusedCost: deleting the key of an unused volume frees the volume.
func unusedCost(edit) (Class, string) { return Destructive, dataLostNote }
