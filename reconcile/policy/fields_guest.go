package policy

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// Names of the types in messages of the checker.
const (
	typeGuest     = "Guest"
	typeCPU       = "CPU"
	typeDisk      = "Disk"
	typeNetwork   = "Network"
	typeLifecycle = "Lifecycle"
)

var (
	listOfText = types.NewListType(types.StringType)
	mapOfText  = types.NewMapType(types.StringType, types.StringType)
	mapOfLists = types.NewMapType(types.StringType, listOfText)
)

// guestType is what `old` and `new` are.
var guestType = &structType{name: typeGuest, kind: types.NewObjectType(typeGuest), fields: []fieldType{
	boolRow("exists", "Whether there is such a guest. Of a guest that does not exist all other fields are empty or 0.", func(g *Guest) bool { return g.Exists }),
	textRow("kind", "`VirtualMachine` or `Container`.", func(g *Guest) string { return g.Kind }),
	textRow("name", "Name of the manifest; of `old` without a manifest, the name in Proxmox.", func(g *Guest) string { return g.Name }),
	intRow("vmid", "Number of the guest; 0 while the agent has not chosen one.", func(g *Guest) int64 { return int64(g.VMID) }),
	textRow("node", "Node: where the guest is, or where it will be.", func(g *Guest) string { return g.Node }),
	textRow("pool", "Resource pool.", func(g *Guest) string { return g.Pool }),
	keyed(row("tags", listOfText, "Tags, sorted, without the agent's own.", func(g *Guest) ref.Val { return g.lists.tags.made(func() ref.Val { return texts(g.Tags) }) }), func(k *key, g *Guest) { k.texts(g.Tags) }),
	keyed(row("labels", mapOfText, "`metadata.labels` of the manifest.", func(g *Guest) ref.Val { return g.lists.labels.made(func() ref.Val { return textMap(g.Labels) }) }), func(k *key, g *Guest) { k.textMap(g.Labels) }),
	textRow("state", "Of `new`: `running`, `stopped` or `ignored`. Of `old`: `running`, `stopped` or `paused`.", func(g *Guest) string { return g.State }),
	keyed(row("cpu", types.NewObjectType(typeCPU), "Processors.", func(g *Guest) ref.Val { return object{cpuType, &g.CPU} }), func(k *key, g *Guest) { k.object(cpuType, &g.CPU) }),
	intRow("memory", "Memory in bytes.", func(g *Guest) int64 { return g.Memory }),
	keyed(row("disks", types.NewListType(types.NewObjectType(typeDisk)), "Disks and drives, sorted by slot.", func(g *Guest) ref.Val {
		return g.lists.disks.made(func() ref.Val { return objects(diskType, g.Disks) })
	}), func(k *key, g *Guest) { objectsKey(k, diskType, g.Disks) }),
	keyed(row("networks", types.NewListType(types.NewObjectType(typeNetwork)), "Network interfaces, sorted by slot.", func(g *Guest) ref.Val {
		return g.lists.networks.made(func() ref.Val { return objects(networkType, g.Networks) })
	}), func(k *key, g *Guest) { objectsKey(k, networkType, g.Networks) }),
	boolRow("onBoot", "Whether the guest starts with its node.", func(g *Guest) bool { return g.OnBoot }),
	boolRow("protection", "Whether Proxmox protects the guest against removal.", func(g *Guest) bool { return g.Protection }),
	boolRow("template", "Whether it is a template.", func(g *Guest) bool { return g.Template }),
	boolRow("privileged", "Of a container: whether root in it is root of the node.", func(g *Guest) bool { return g.Privileged }),
	boolRow("ha", "Whether the HA manager has the guest.", func(g *Guest) bool { return g.HA }),
	keyed(row("lifecycle", types.NewObjectType(typeLifecycle), "Guards in effect; of `new` only.", func(g *Guest) ref.Val { return object{lifecycleType, &g.Lifecycle} }), func(k *key, g *Guest) { k.object(lifecycleType, &g.Lifecycle) }),
	row("config", mapOfText, "All native keys of Proxmox with their native values, without passwords: `new.config[\"ostype\"]`.", func(g *Guest) ref.Val { return textMap(g.config()) }),
	row("signers", mapOfLists, "Of `new`: names of the signers who introduced a field, by native key such as `memory`, by `spec.` and a field such as `spec.node`, or `metadata.labels`. Fields that were accepted before the agent recorded signers are missing.", func(g *Guest) ref.Val { return listMap(g.fieldSigners()) }),
}}

var cpuType = &structType{name: typeCPU, kind: types.NewObjectType(typeCPU), fields: []fieldType{
	intRow("cores", "Cores of a socket. Of a container: 0 without a limit.", func(c *CPU) int64 { return c.Cores }),
	intRow("sockets", "Sockets; 1 of a container.", func(c *CPU) int64 { return c.Sockets }),
	intRow("total", "Cores of all sockets.", func(c *CPU) int64 { return c.Total() }),
}}

var diskType = &structType{name: typeDisk, kind: types.NewObjectType(typeDisk), fields: []fieldType{
	textRow("slot", "Slot: `scsi0`, `rootfs`, `mp1`.", func(d *Disk) string { return d.Slot }),
	textRow("kind", "`disk`, `cdrom`, `cloudinit`, `efi`, `tpm`, `rootfs`, `mount`, or `bind` for a directory of the node.", func(d *Disk) string { return d.Kind }),
	textRow("storage", "Storage of the volume.", func(d *Disk) string { return d.Storage }),
	textRow("volume", "Volume, as far as it is known: that of a new disk is empty. `none` for an empty CD-ROM drive.", func(d *Disk) string { return d.Volume }),
	intRow("size", "Size in bytes; 0 if it is not known.", func(d *Disk) int64 { return d.Size }),
	boolRow("backup", "Whether backups contain it.", func(d *Disk) bool { return d.Backup }),
	textsRow("signers", "Names of the signers who introduced the slot; see `signers` of the guest.", func(d *Disk) []string { return d.Signers }),
}}

var networkType = &structType{name: typeNetwork, kind: types.NewObjectType(typeNetwork), fields: []fieldType{
	textRow("slot", "Slot: `net0`.", func(n *Network) string { return n.Slot }),
	textRow("bridge", "Bridge.", func(n *Network) string { return n.Bridge }),
	intRow("vlan", "VLAN tag; 0 without one.", func(n *Network) int64 { return n.VLAN }),
	boolRow("firewall", "Whether the firewall of Proxmox filters it.", func(n *Network) bool { return n.Firewall }),
	boolRow("connected", "Whether the link is up.", func(n *Network) bool { return n.Connected }),
	textRow("mac", "Hardware address; empty while Proxmox has not chosen one.", func(n *Network) string { return n.MAC }),
	textsRow("signers", "Names of the signers who introduced the slot; see `signers` of the guest.", func(n *Network) []string { return n.Signers }),
}}

var lifecycleType = &structType{name: typeLifecycle, kind: types.NewObjectType(typeLifecycle), fields: []fieldType{
	textRow("destroy", "`deny`, `approve` or `allow`.", func(l *Lifecycle) string { return l.Destroy }),
	textRow("recreate", "`deny`, `approve` or `allow`.", func(l *Lifecycle) string { return l.Recreate }),
	textRow("rebootPolicy", "`never`, `approve`, `window` or `auto`.", func(l *Lifecycle) string { return l.RebootPolicy }),
}}
