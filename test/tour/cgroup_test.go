//go:build integration

package tour

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// controlGroup is a new control group in each hierarchy that systemd uses: version 2, and the one of version 1 with its name. systemd-nspawn makes groups
// below that of its process, so without one of its own two containers would share them.
type controlGroup []string // folders

func newControlGroup() (controlGroup, error) {
	mounts, err := cgroupMounts()
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	var c controlGroup
	for line := range strings.Lines(string(own)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		at, known := mounts[fields[1]]
		if !known {
			continue
		}
		folder := filepath.Join(at, fields[2], fmt.Sprintf("gitops-agent-tour-%d", os.Getpid()))
		if err := os.Mkdir(folder, 0o755); err != nil {
			c.remove()
			return nil, fmt.Errorf("control group: %w", err)
		}
		c = append(c, folder)
	}
	return c, nil
}

// cgroupMounts returns where the hierarchies that systemd uses are mounted, by the controllers in /proc/self/cgroup.
func cgroupMounts() (map[string]string, error) {
	file, err := os.Open("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	found := map[string]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text()) // device, folder, type, options
		switch {
		case fields[2] == "cgroup2":
			found[""] = fields[1]
		case fields[2] == "cgroup" && slices.Contains(strings.Split(fields[3], ","), "name=systemd"):
			found["name=systemd"] = fields[1]
		}
	}
	return found, nil
}

// remove removes the groups with the groups below them, in which no process is left.
func (c controlGroup) remove() {
	for _, folder := range c {
		var below []string
		_ = filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				below = append(below, path)
			}
			return nil
		})
		slices.Reverse(below)
		for _, path := range below {
			_ = os.Remove(path) // a group that is left does no harm
		}
	}
}
