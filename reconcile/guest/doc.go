// Package guest says what a Proxmox guest is: its kind, its vmid, its native configuration keys and its run state.
//
// Everything above this package speaks in native keys ("memory", "net0", "scsi1"). One table (table.go, its rows in rows_*.go)
// holds a row for every key that the agent knows: how its text is parsed, when two texts mean the same, how a wanted value is
// merged with what Proxmox owns (MAC addresses, volume ids, uuids), when a change takes effect and what it costs.
// Adding a key is a row there, a field in the manifest and a case in the simulator.
//
// A row also says which releases of Proxmox VE know it, who may write it, and what stands in the way; docs/keys.md prints it all.
//
// A few things about a guest are no configuration: its node, its pool, its entry with the HA manager, and that it is a template. They
// are compared beside the keys, under names of their own, and written by calls of their own. What the calls need of the agent's token
// is told by Privileges.
//
// Values are compared as values, never as text: Proxmox re-prints some property strings, keeps others as they were
// typed, sorts tags, and adds a newline to the description of a container. Keys and sub-keys that the table does not hold are
// carried, never dropped.
package guest
