package pvesim

import (
	"maps"
	"slices"
)

// isLiveCTKey reports whether a running container applies a change of the key at once.
func isLiveCTKey(conf *config, key string) bool {
	switch key {
	case "description", "onboot", "startup", "protection", "hostname", "hookscript", "cores", "tags", "lock", "cpulimit", "cpuunits", "memory", "swap":
		return true
	}
	stem, _, _ := splitIndex(key)
	return stem == "net" || (stem == "mp" || stem == "dev") && conf.Values[key] == "" || stem == "unused"
}

// isLiveCTDelete reports whether a running container deletes the key at once. Mount points and devices stay until the container stops, and so
// do network devices from net10 on.
func isLiveCTDelete(conf *config, key string) bool {
	stem, index, _ := splitIndex(key)
	switch stem {
	case "mp", "dev":
		return false
	case "net":
		return index < 10
	}
	return isLiveCTKey(conf, key)
}

// applyCT applies pending changes: all of them to a stopped container, only the live ones to a running container.
func (s *Sim) applyCT(g *guest, conf *config) error {
	for _, d := range slices.Clone(conf.Deletes) {
		if !g.running || isLiveCTDelete(conf, d.Key) {
			s.removeCTKey(conf, d.Key)
			conf.DropDelete(d.Key)
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(conf.Pending), compareSlots) {
		if g.running && !isLiveCTKey(conf, k) {
			continue
		}
		if err := s.applyCTKey(g, conf, k); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sim) removeCTKey(conf *config, key string) {
	old, ok := conf.Values[key]
	if !ok {
		return
	}
	delete(conf.Values, key)
	switch {
	case isUnused(key):
		s.free(old, freeReason("delete of "+key))
	case isDisk(LXC, key):
		s.moveToUnused(LXC, conf, key, old)
	}
}

// applyCTKey moves one pending value into the config. It allocates the volume that a mount point requests.
func (s *Sim) applyCTKey(g *guest, conf *config, key string) error {
	value := conf.Pending[key]
	switch {
	case isNet(key):
		n, err := s.normalizeLXCNet(key, value)
		if err != nil {
			return err
		}
		value = n
	case isDisk(LXC, key) && key != "rootfs":
		v, err := s.applyMount(g, conf, key, value)
		if err != nil {
			return err
		}
		value = v
	}
	delete(conf.Pending, key)
	if key == "description" && value == "" {
		delete(conf.Values, key)
		return nil
	}
	conf.Values[key] = value
	return nil
}

func (s *Sim) applyMount(g *guest, conf *config, key, value string) (string, error) {
	d, err := parseMount(key, value)
	if err != nil {
		return "", err
	}
	var made []string
	if d, err = s.allocate(g.node, g.vmid, d, func(string, ...any) {}, &made); err != nil {
		s.freeAllocated(made)
		return "", err
	}
	if old, ok := conf.Values[key]; ok {
		if o, err := parseMount(key, old); err == nil && o.file() != d.file() {
			s.moveToUnused(LXC, conf, key, old)
		}
	}
	for k, v := range conf.Values {
		if isUnused(k) && v == d.file() {
			delete(conf.Values, k)
		}
	}
	return d.text(), nil
}
