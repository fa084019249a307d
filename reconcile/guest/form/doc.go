// Package form defines how plain values of a guest's configuration are written: whole values such as those of "memory" and "onboot", and the values of
// sub-keys in property strings such as "net0". It knows no keys.
//
// A Scalar is the type of a value: its Form and the accepted values. Its methods answer four questions about texts:
//
//	Canonical   which text stands for all spellings of a value (canonical.go, sets.go)
//	Check       why Proxmox would refuse a text (scalar.go, check.go)
//	Same        whether two texts have the same meaning
//	Satisfied   whether a text is what is wanted, where Proxmox makes values more specific
//
// A text that does not have the form is equal only to itself, so that a value that this agent cannot read is never a difference by mistake.
//
// To add a form, add a constant to form.go; lint finds the switches that lack it.
//
// Source: PVE JSON schema and the config schemas of qemu-server and pve-container.
package form
