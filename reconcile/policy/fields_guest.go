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
	row("exists", types.BoolType, "Whether there is such a guest. Of a guest that does not exist all other fields are empty or 0.", func(g *Guest) ref.Val { return types.Bool(g.Exists) }),
	row("kind", types.StringType, "`VirtualMachine` or `Container`.", func(g *Guest) ref.Val { return types.String(g.Kind) }),
	row("name", types.StringType, "Name of the manifest; of `old` without a manifest, the name in Proxmox.", func(g *Guest) ref.Val { return types.String(g.Name) }),
	row("vmid", types.IntType, "Number of the guest; 0 while the agent has not chosen one.", func(g *Guest) ref.Val { return types.Int(g.VMID) }),
	row("node", types.StringType, "Node: where the guest is, or where it will be.", func(g *Guest) ref.Val { return types.String(g.Node) }),
	row("pool", types.StringType, "Resource pool.", func(g *Guest) ref.Val { return types.String(g.Pool) }),
	row("tags", listOfText, "Tags, sorted, without the agent's own.", func(g *Guest) ref.Val { return g.lists.tags }),
	row("labels", mapOfText, "`metadata.labels` of the manifest.", func(g *Guest) ref.Val { return g.lists.labels }),
	row("state", types.StringType, "Of `new`: `running`, `stopped` or `ignored`. Of `old`: `running`, `stopped` or `paused`.", func(g *Guest) ref.Val { return types.String(g.State) }),
	row("cpu", types.NewObjectType(typeCPU), "Processors.", func(g *Guest) ref.Val { return object{cpuType, &g.CPU} }),
	row("memory", types.IntType, "Memory in bytes.", func(g *Guest) ref.Val { return types.Int(g.Memory) }),
	row("disks", types.NewListType(types.NewObjectType(typeDisk)), "Disks and drives, sorted by slot.", func(g *Guest) ref.Val { return g.lists.disks }),
	row("networks", types.NewListType(types.NewObjectType(typeNetwork)), "Network interfaces, sorted by slot.", func(g *Guest) ref.Val { return g.lists.networks }),
	row("onBoot", types.BoolType, "Whether the guest starts with its node.", func(g *Guest) ref.Val { return types.Bool(g.OnBoot) }),
	row("protection", types.BoolType, "Whether Proxmox protects the guest against removal.", func(g *Guest) ref.Val { return types.Bool(g.Protection) }),
	row("template", types.BoolType, "Whether it is a template.", func(g *Guest) ref.Val { return types.Bool(g.Template) }),
	row("privileged", types.BoolType, "Of a container: whether root in it is root of the node.", func(g *Guest) ref.Val { return types.Bool(g.Privileged) }),
	row("ha", types.BoolType, "Whether the HA manager has the guest.", func(g *Guest) ref.Val { return types.Bool(g.HA) }),
	row("lifecycle", types.NewObjectType(typeLifecycle), "Guards in effect; of `new` only.", func(g *Guest) ref.Val { return object{lifecycleType, &g.Lifecycle} }),
	row("config", mapOfText, "All native keys of Proxmox with their native values, without passwords: `new.config[\"ostype\"]`.", func(g *Guest) ref.Val { return textMap(g.config()) }),
	row("signers", mapOfLists, "Of `new`: names of the signers who introduced a field, by native key such as `memory`, by `spec.` and a field such as `spec.node`, or `metadata.labels`. Fields that were accepted before the agent recorded signers are missing.", func(g *Guest) ref.Val { return listMap(g.fieldSigners()) }),
}}

var cpuType = &structType{name: typeCPU, kind: types.NewObjectType(typeCPU), fields: []fieldType{
	row("cores", types.IntType, "Cores of a socket. Of a container: 0 without a limit.", func(c *CPU) ref.Val { return types.Int(c.Cores) }),
	row("sockets", types.IntType, "Sockets; 1 of a container.", func(c *CPU) ref.Val { return types.Int(c.Sockets) }),
	row("total", types.IntType, "Cores of all sockets.", func(c *CPU) ref.Val { return types.Int(c.Total()) }),
}}

var diskType = &structType{name: typeDisk, kind: types.NewObjectType(typeDisk), fields: []fieldType{
	row("slot", types.StringType, "Slot: `scsi0`, `rootfs`, `mp1`.", func(d *Disk) ref.Val { return types.String(d.Slot) }),
	row("kind", types.StringType, "`disk`, `cdrom`, `cloudinit`, `efi`, `tpm`, `rootfs`, `mount`, or `bind` for a directory of the node.", func(d *Disk) ref.Val { return types.String(d.Kind) }),
	row("storage", types.StringType, "Storage of the volume.", func(d *Disk) ref.Val { return types.String(d.Storage) }),
	row("volume", types.StringType, "Volume, as far as it is known: that of a new disk is empty. `none` for an empty CD-ROM drive.", func(d *Disk) ref.Val { return types.String(d.Volume) }),
	row("size", types.IntType, "Size in bytes; 0 if it is not known.", func(d *Disk) ref.Val { return types.Int(d.Size) }),
	row("backup", types.BoolType, "Whether backups contain it.", func(d *Disk) ref.Val { return types.Bool(d.Backup) }),
	row("signers", listOfText, "Names of the signers who introduced the slot; see `signers` of the guest.", func(d *Disk) ref.Val { return texts(d.Signers) }),
}}

var networkType = &structType{name: typeNetwork, kind: types.NewObjectType(typeNetwork), fields: []fieldType{
	row("slot", types.StringType, "Slot: `net0`.", func(n *Network) ref.Val { return types.String(n.Slot) }),
	row("bridge", types.StringType, "Bridge.", func(n *Network) ref.Val { return types.String(n.Bridge) }),
	row("vlan", types.IntType, "VLAN tag; 0 without one.", func(n *Network) ref.Val { return types.Int(n.VLAN) }),
	row("firewall", types.BoolType, "Whether the firewall of Proxmox filters it.", func(n *Network) ref.Val { return types.Bool(n.Firewall) }),
	row("connected", types.BoolType, "Whether the link is up.", func(n *Network) ref.Val { return types.Bool(n.Connected) }),
	row("mac", types.StringType, "Hardware address; empty while Proxmox has not chosen one.", func(n *Network) ref.Val { return types.String(n.MAC) }),
	row("signers", listOfText, "Names of the signers who introduced the slot; see `signers` of the guest.", func(n *Network) ref.Val { return texts(n.Signers) }),
}}

var lifecycleType = &structType{name: typeLifecycle, kind: types.NewObjectType(typeLifecycle), fields: []fieldType{
	row("destroy", types.StringType, "`deny`, `approve` or `allow`.", func(l *Lifecycle) ref.Val { return types.String(l.Destroy) }),
	row("recreate", types.StringType, "`deny`, `approve` or `allow`.", func(l *Lifecycle) ref.Val { return types.String(l.Recreate) }),
	row("rebootPolicy", types.StringType, "`never`, `approve`, `window` or `auto`.", func(l *Lifecycle) ref.Val { return types.String(l.RebootPolicy) }),
}}
