package cluster

// DeniedError is a refusal because the token lacks a permission. It wraps ErrDenied. The error that wraps a DeniedError also holds
// Proxmox's own text.
type DeniedError struct {
	Path     string   // the object that a privilege is missing on, "/vms/201"; empty if Proxmox named none
	AnyOf    []string // the privileges of which one is missing, "VM.Config.CPU"; each of them would do. Empty if Path is empty
	Tag      string   // the tag that the options of the datacenter do not let the token set or remove; empty if the refusal is about none
	RootOnly bool     // only root@pam may do this: no privilege helps, and no API token may do it
}

func (e *DeniedError) Error() string { return ErrDenied.Error() }

// Unwrap returns ErrDenied.
func (e *DeniedError) Unwrap() error { return ErrDenied }
