package pvesim

import (
	"maps"
	"slices"
)

// applyPending applies every pending change of a stopped VM. The state is locked.
func (s *Sim) applyPending(g *guest) {
	if !g.conf.hasPending() {
		return
	}
	g.edit(func(conf *config) {
		for _, d := range conf.deletes {
			s.removeKey(conf, d)
		}
		conf.deletes = nil
		for _, k := range slices.Sorted(maps.Keys(conf.pending)) {
			s.applyKey(conf, k)
		}
	})
}

// removeKey removes a key from the config. The volume of a drive becomes unused; with force it is freed.
func (s *Sim) removeKey(conf *config, d pendingDelete) {
	old, ok := conf.values[d.key]
	if !ok {
		return
	}
	delete(conf.values, d.key)
	if !isDisk(QEMU, d.key) {
		return
	}
	if dr, err := parseDrive(d.key, old); err == nil && d.force && dr.ownsVolume() {
		s.free(dr.file(), freeReason("forced delete of "+d.key))
		return
	}
	s.moveToUnused(QEMU, conf, d.key, old)
}

// applyKey moves one pending value into the config. The volume of a replaced drive becomes unused.
func (s *Sim) applyKey(conf *config, key string) {
	value := conf.pending[key]
	delete(conf.pending, key)
	if old, ok := conf.values[key]; ok && isDisk(QEMU, key) {
		o, err1 := parseDrive(key, old)
		n, err2 := parseDrive(key, value)
		if err1 == nil && err2 == nil && o.file() != n.file() {
			s.moveToUnused(QEMU, conf, key, old)
		}
	}
	conf.values[key] = value
}
