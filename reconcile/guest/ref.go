package guest

import "fmt"

// Kind is what Proxmox calls the type of a guest. Its text is the manifest kind.
type Kind string

// The two kinds of guest that Proxmox runs.
const (
	VirtualMachine Kind = "VirtualMachine"
	Container      Kind = "Container"
)

// API returns the kind's name in API paths: "qemu" or "lxc".
func (k Kind) API() string {
	if k == Container {
		return "lxc"
	}
	return "qemu"
}

// Ref names a guest. The vmid is its identity on the cluster; kind and name are its label in the repository.
type Ref struct {
	Kind Kind
	Name string
	VMID int // 100 to 999999999; 0 while none is assigned
}

// String returns "VirtualMachine/web-1 (201)", without the vmid where there is none yet.
func (r Ref) String() string {
	if r.VMID == 0 {
		return r.Label()
	}
	return fmt.Sprintf("%s (%d)", r.Label(), r.VMID)
}

// Label returns "VirtualMachine/web-1", the form that commands, orders and dependsOn use.
func (r Ref) Label() string { return string(r.Kind) + "/" + r.Name }

// Origin is the place in the repository that asked for a value.
type Origin struct {
	File         string
	Line, Column int // from 1; 0 where the value has no place of its own
}

// String returns "guests/web.yaml:12:5", or the empty string for the zero Origin.
func (o Origin) String() string {
	if o.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Column)
}
