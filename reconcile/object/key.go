// Package object identifies what the agent reconciles. The lanes, the retries and the drift of every kind of object are kept by its Key.
package object

import (
	"cmp"
	"strconv"
	"strings"
)

// Key identifies an object among all objects of a cluster. A guest that has a vmid is identified by it, because a new name does not make another guest;
// every other object is identified by its label. The zero Key identifies nothing.
type Key struct {
	VMID  int    // 0 for an object without a vmid
	Label string // "VirtualMachine/web-1"; "" for an object with a vmid
}

// KeyOf returns the key of the object with a vmid, or with a label if the vmid is 0.
func KeyOf(vmid int, label string) Key {
	if vmid != 0 {
		return Guest(vmid)
	}
	return Key{Label: label}
}

// Guest returns the key of the guest with a vmid.
func Guest(vmid int) Key { return Key{VMID: vmid} }

// Kind returns the kind in the label, "" for an object with a vmid.
func (k Key) Kind() string {
	kind, _, _ := strings.Cut(k.Label, "/")
	return kind
}

// Compare orders keys by vmid, then by label. Objects without a vmid come first.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.VMID, other.VMID), cmp.Compare(k.Label, other.Label))
}

// String returns the vmid, "201", or the label of an object without one.
func (k Key) String() string {
	if k.VMID != 0 {
		return strconv.Itoa(k.VMID)
	}
	return k.Label
}
