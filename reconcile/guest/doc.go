// Package guest defines what a Proxmox guest is: its kind, its vmid, its native configuration keys and its run state.
//
// The packages above use native keys ("memory", "net0", "scsi1"). One table has a row for every key that the agent knows. A row defines how
// the text of the key is parsed, when two texts have the same meaning, which parts Proxmox owns (MAC addresses, volume ids, uuids), when a
// change takes effect and what it costs, which releases of Proxmox VE support the key, who may write it, and what can prevent a change.
// The page docs/keys.md prints the table.
//
// The main types, in the order of their use:
//
//	Ref, Origin        the identity of a guest, and a position in the repository (ref.go)
//	Desired, Intent    what a manifest wants (desired.go)
//	Observed, Value    what the cluster shows (observed.go)
//	Diff -> Change     the differences between the two, each with its Class and its Write (diff.go, change.go)
//	CreateParams       the parameters of the call that creates a guest (create.go, source.go)
//	Privileges         what the agent's token needs for all this (privileges.go)
//	Check, Words ...   questions to the table (key.go, subkey.go, enumeration.go)
//
// Some properties of a guest are not part of its configuration: its node, its pool, its entry with the HA manager, and whether it is a
// template. Diff compares them as "node", "pool", "ha" and "template"; separate calls write them.
//
// Values are compared by meaning, never as text: Proxmox prints some property strings in its own form, keeps others as they were typed, sorts
// tags, and adds a newline to the description of a container. Package form defines how plain values are written and compared, and syntax.go property
// strings. Keys and sub-keys that the table does not contain are kept, never dropped.
//
// To add a native key, add a row to rows_vm.go, rows_vm_devices.go or rows_ct.go (with a syntax in a syntaxes file for a property string), a field in
// package manifest and a case in the simulator. Start reading with row.go, one rows file, and diff.go.
package guest
