package guest

import (
	"fmt"
	"io"
)

// beyond is what the page says of the changes that no key of the configuration tells.
var beyond = []struct{ key, says, class, who string }{
	{
		"node", "Where the guest is. Compared only where the manifest allows a move: a guest that its owner or the HA manager moved is no drift otherwise.",
		"stopped, or a running virtual machine: live; a running container: disruptive; a device, bind mount or shared folder of the host, or `migrate: offline` while it runs: impossible",
		"VM.Migrate",
	},
	{"pool", "The pool that the guest is in.", "live", "Pool.Allocate and Pool.Audit on the pool, VM.Allocate"},
	{
		"ha", "The guest's entry with the HA manager; only the fields that a manifest names. `ha.state`, `ha.max_restart` and `ha.max_relocate` can be ignored one by one.",
		"live; disruptive where the manager shuts the guest down or stops looking after it", "Sys.Console and Sys.Audit on /",
	},
	{"template", "The guest is a template. Never undone.", "disruptive; impossible while it runs or has snapshots", "VM.Allocate"},
	{
		"a disk's storage", "Where a volume is. It is moved with all that is on it, and the old volume stays as unused.",
		"live; of a running virtual machine disruptive; of a running container, of a running machine's TPM state, and while a change of the disk waits: impossible",
		"VM.Config.Disk, Datastore.AllocateSpace on the storage",
	},
}

// words are the notes of changes that need more words than they have.
var words = []struct{ note, means string }{
	{restartNeeded, "It is written now, and nothing happens to the guest until it is stopped and started. A reboot from inside is not enough."},
	{flapNote, "The network card is unplugged and plugged in at the host: connections stall for a moment, an address by DHCP may be asked for anew."},
	{replugNote, "The guest sees a card go and another come: its addresses and routes are set up anew, as after pulling a cable from a new card."},
	{unpluggedNote, "The guest loses this network."},
	{addressNote, "A container's address is another one from now on; connections to the old one end."},
	{cloudInitNote, "Cloud-init takes the next boot for that of a new machine: ssh host keys are made anew, users, files and commands of the first boot come again. " +
		"`cicustom` with a `meta` file pins the instance id, and then it does not."},
	{memoryNote, "Memory that programs use cannot be taken without ending some of them."},
	{guardNote, "Nothing keeps the guest and its disks from being deleted any more."},
	{detachedNote, "The disk leaves the guest, and what is on it stays."},
	{sizeNote, "The disk has grown since that was written. It would bring the old size back into the configuration, which Proxmox does not correct."},
	{bootDeviceNote, "Proxmox refuses an order with a device that the guest does not have. One that the same plan adds is there."},
	{slotNote, "Proxmox knows one such drive. It stays where it is if `cloudInit.slot` names that slot; with that slot `absent: true` under `disks` it is removed, " +
		"and made in the other one afterwards."},
	{dataLostNote, "What is on the volume is gone for good."},
}

func writeBeyond(w io.Writer) {
	_, _ = fmt.Fprint(w, "\n## Beyond the configuration\n\nThese changes have calls of their own. `ignoreFields` takes their names as well.\n\n"+
		"| key | what | class | who |\n|---|---|---|---|\n")
	for _, b := range beyond {
		key := "`" + b.key + "`"
		if b.key == "a disk's storage" {
			key = b.key
		}
		_, _ = fmt.Fprintf(w, "| %s | %s | %s | %s |\n", key, b.says, b.class, b.who)
	}
	_, _ = fmt.Fprint(w, "\nA drive needs VM.Config.CDROM where it holds a CD-ROM, and VM.Config.Cloudinit too where it is cloud-init's; a new disk needs "+
		"Datastore.AllocateSpace on its storage, an image Datastore.Audit or Datastore.AllocateSpace, a card SDN.Use on its bridge, a mapped device "+
		"Mapping.Use on the mapping.\n\n## What plans say\n\n| note | what it means |\n|---|---|\n")
	for _, word := range words {
		_, _ = fmt.Fprintf(w, "| %s | %s |\n", word.note, word.means)
	}
}
