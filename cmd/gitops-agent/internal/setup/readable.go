package setup

import (
	"os"
	"slices"
	"syscall"

	"gitops-agent/internal/agent"
)

// unreadable returns the files that the config names and that the agent's user cannot read, because root made them for itself. Without such a user there are
// none. A missing file is not its problem: the check of the config reports it.
func (o owner) unreadable(c agent.Config) []string {
	if !o.service {
		return nil
	}
	paths := []string{c.Proxmox.TokenFile, c.Proxmox.CAFile, c.Trust.TrustedRootFile}
	for _, r := range c.Source.Remotes {
		paths = append(paths, r.TokenFile, r.CAFile, r.SSHKeyFile, r.KnownHostsFile)
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		info, err := os.Stat(path)
		return path == "" || err != nil || o.canRead(info)
	})
}

func (o owner) canRead(info os.FileInfo) bool {
	stat, known := info.Sys().(*syscall.Stat_t)
	mode := info.Mode().Perm()
	switch {
	case !known:
		return true
	case int(stat.Uid) == o.uid:
		return mode&0o400 != 0
	case int(stat.Gid) == o.gid:
		return mode&0o040 != 0
	}
	return mode&0o004 != 0
}
