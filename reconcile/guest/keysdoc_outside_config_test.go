package guest

import (
	"fmt"
	"io"
)

// outsideConfig describes the changes that are not changes of a configuration key.
var outsideConfig = []struct {
	key, description string
	class            []string
	who              string
}{
	{
		"`node`", "The node of the guest. It is compared only if the manifest allows a move. Otherwise a guest that its owner or the HA manager moved has not drifted.",
		[]string{
			"a stopped guest, or a running virtual machine: live",
			"a running container: disruptive",
			"a guest with a device, bind mount or shared folder of the host: impossible",
			"a running guest with `migrate: offline`: impossible",
		},
		"VM.Migrate",
	},
	{"`pool`", "The pool of the guest.", []string{"live"}, "Pool.Allocate and Pool.Audit on the pool, VM.Allocate"},
	{
		"`ha`", "The guest's entry with the HA manager. Only the fields that the manifest names are compared. `ignoreFields` accepts `ha.state`, `ha.max_restart`, `ha.max_relocate` and `ha.failback` as well. `failback` needs Proxmox VE 9. The comment of the entry is left to people.",
		[]string{"live", "if the HA manager shuts the guest down or stops managing it: disruptive"},
		"Sys.Console and Sys.Audit on /",
	},
	{
		"`template`", "The guest is a template. This cannot be undone.",
		[]string{"disruptive", "a guest that runs or has snapshots: impossible"},
		"VM.Allocate",
	},
	{
		"The storage of a disk", "The storage of a volume. The volume is moved with its content, and the old volume stays as unused.",
		[]string{
			"live",
			"a running virtual machine: disruptive",
			"a running container, the TPM state of a running virtual machine, or a disk with a pending change: impossible",
		},
		"VM.Config.Disk, Datastore.AllocateSpace on the storage",
	},
}

// noteMeanings explains the notes of changes.
var noteMeanings = []struct{ note, means string }{
	{restartNeeded, "The change is written now. The guest does not use it until it is stopped and started. A reboot from inside is not enough."},
	{flapNote, "The network card is unplugged and plugged in again at the host. Connections stall for a moment, and the guest may ask for a new address by DHCP."},
	{replugNote, "The guest loses a card and gets a new one. It sets up addresses and routes again, as after a replaced card."},
	{unpluggedNote, "The guest loses this network."},
	{addressNote, "The container has another address from now on. Connections to the old address end."},
	{cloudInitNote, "Cloud-init treats the next boot as the first boot of a new machine. It creates new SSH host keys, and sets up users, files and commands of the first boot again. " +
		"If `cicustom` has a `meta` file, the instance id stays the same, and cloud-init does not rerun."},
	{vendorNote, "The instance id is a hash of the user and the network data. With another vendor file alone it stays the same: the modules that run at each boot, such as `bootcmd`, use " +
		"the new file, and packages, users, files and commands of the first boot are not done again. To do them again, let `cloud-init clean` run in the guest before the boot."},
	{memoryNote, "Removing memory that programs use ends some of these programs."},
	{guardNote, "Without protection the guest and its disks can be deleted."},
	{detachedNote, "The disk is removed from the guest. Its content is kept."},
	{sizeNote, "The disk grew after the pending change was written. The pending change would restore the old size in the configuration, and Proxmox does not correct it."},
	{bootDeviceNote, "Proxmox refuses a boot order with a device that the guest does not have. A device that the same plan adds is allowed."},
	{slotNote, "A guest can have only one cloud-init drive. Set `cloudInit.slot` to the slot of the existing drive to keep it there. " +
		"To move the drive, set `absent: true` for the old slot under `disks`: the drive is removed, and then created in the other slot."},
	{dataLostNote, "The content of the volume is lost."},
}

func writeOutsideConfig(w io.Writer) {
	_, _ = fmt.Fprint(w, "\n## Outside the configuration\n\nEach of these changes has its own call. `ignoreFields` accepts their names as well.\n")
	for _, c := range outsideConfig {
		_, _ = fmt.Fprintf(w, "\n### %s\n\n%s\n\nWho: %s. Class:\n\n", c.key, c.description, c.who)
		for _, class := range c.class {
			_, _ = fmt.Fprintf(w, "- %s\n", class)
		}
	}
	_, _ = fmt.Fprint(w, `
## Privileges for devices

- A CD-ROM drive needs VM.Config.CDROM. A cloud-init drive needs VM.Config.CDROM and VM.Config.Cloudinit.
- A new disk needs Datastore.AllocateSpace on its storage.
- An image needs Datastore.Audit or Datastore.AllocateSpace on its storage.
- A network card needs SDN.Use on its bridge.
- A mapped device needs Mapping.Use on the mapping.

## Notes in plans

`)
	for _, word := range noteMeanings {
		_, _ = fmt.Fprintf(w, "- **%s**: %s\n", word.note, word.means)
	}
}
