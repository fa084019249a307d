package guest

import (
	"fmt"
	"strings"
)

// Kind is the type of a guest. Its text is the kind in manifests.
type Kind string

// The two kinds of guest that Proxmox runs.
const (
	VirtualMachine Kind = "VirtualMachine"
	Container      Kind = "Container"
)

// IsGuest reports whether the kind is one of these two, and not that of another object.
func (k Kind) IsGuest() bool { return k == VirtualMachine || k == Container }

// API returns the kind's name in API paths: "qemu" or "lxc".
func (k Kind) API() string {
	if k == Container {
		return "lxc"
	}
	return "qemu"
}

// Tool returns the command of Proxmox for guests of the kind on their node, "qm" or "pct".
func (k Kind) Tool() string {
	if k == Container {
		return "pct"
	}
	return "qm"
}

// Ref identifies a guest. The vmid identifies it on the cluster; kind and name are its label in the repository.
type Ref struct {
	Kind Kind
	Name string
	VMID int // 100 to 999999999; 0 while none is assigned
}

// HAName returns the HA manager's name of the guest, "vm:201".
func (r Ref) HAName() string {
	if r.Kind == Container {
		return fmt.Sprintf("ct:%d", r.VMID)
	}
	return fmt.Sprintf("vm:%d", r.VMID)
}

// String returns "VirtualMachine/web-1 (201)", without the vmid if none is assigned yet.
func (r Ref) String() string {
	if r.VMID == 0 {
		return r.Label()
	}
	return fmt.Sprintf("%s (%d)", r.Label(), r.VMID)
}

// Label returns "VirtualMachine/web-1", as used in commands, orders and dependsOn.
func (r Ref) Label() string { return string(r.Kind) + "/" + r.Name }

// FindLabel returns the label that a person means: the label itself, or the only one with a name: web-1 is VirtualMachine/web-1, unless there is a Container/web-1 too.
// It returns "" if no label, or more than one, is meant.
func FindLabel(name string, labels []string) string {
	found := ""
	for _, label := range labels {
		_, short, _ := strings.Cut(label, "/")
		switch {
		case label == name:
			return label
		case short == name && found != "" && found != label:
			return ""
		case short == name:
			found = label
		}
	}
	return found
}

// Origin is the position in the repository where a value was written.
type Origin struct {
	File         string
	Line, Column int // from 1; 0 if the value has no position of its own
}

// String returns "guests/web.yaml:12:5", or the empty string for the zero Origin.
func (o Origin) String() string {
	if o.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Column)
}
