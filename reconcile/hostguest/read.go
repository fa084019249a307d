package hostguest

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"gitops-agent/reconcile/guest"
)

// Bounds of what is read of the machine.
const (
	maxFile       = 4096
	maxInterfaces = 64
)

// Read returns the facts of the machine whose file system begins at root, "/" except in tests. What cannot be read is not known.
func Read(root string) Facts {
	var f Facts
	switch {
	case textOf(root, "run/systemd/container") == "lxc", strings.Contains("\x00"+textOf(root, "proc/1/environ")+"\x00", "\x00container=lxc\x00"):
		f.Kind = guest.Container
	case textOf(root, "sys/class/dmi/id/sys_vendor") == "QEMU":
		f.Kind, f.UUID = guest.VirtualMachine, strings.ToLower(textOf(root, "sys/class/dmi/id/product_uuid"))
	default:
		return f
	}
	f.Addresses = addresses(root)
	return f
}

// addresses returns the hardware addresses of the network interfaces, without the loopback interface.
func addresses(root string) []string {
	dir, err := os.Open(filepath.Join(root, "sys/class/net")) //nolint:gosec // a fixed folder
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(maxInterfaces)
	var list []string
	for _, name := range names {
		address := strings.ToLower(textOf(root, "sys/class/net/"+name+"/address"))
		if strings.Trim(address, "0:") != "" {
			list = append(list, address)
		}
	}
	return list
}

// textOf returns the beginning of a file without the white space around it; "" if the file cannot be read.
func textOf(root, path string) string {
	file, err := os.Open(filepath.Join(root, path)) //nolint:gosec // fixed files of the system
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
