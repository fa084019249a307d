package pvesim

import (
	"maps"
	"slices"

	"gitops-agent/internal/pvesim/configtext"
)

// applyPending applies every pending change of a stopped VM. The state is locked.
func (s *Sim) applyPending(g *guest) {
	if !g.conf.HasPending() {
		return
	}
	g.edit(func(conf *config) {
		for _, d := range conf.Deletes {
			s.removeKey(conf, d)
		}
		conf.Deletes = nil
		for _, k := range slices.Sorted(maps.Keys(conf.Pending)) {
			s.applyKey(conf, k)
		}
	})
}

// removeKey removes a key from the config. The volume of a drive becomes unused; with force it is freed.
func (s *Sim) removeKey(conf *config, d configtext.PendingDelete) {
	old, ok := conf.Values[d.Key]
	if !ok {
		return
	}
	delete(conf.Values, d.Key)
	if !isDisk(QEMU, d.Key) {
		return
	}
	if dr, err := parseDrive(d.Key, old); err == nil && d.Force && dr.ownsVolume() {
		s.free(dr.file(), freeReason("forced delete of "+d.Key))
		return
	}
	s.moveToUnused(QEMU, conf, d.Key, old)
}

// applyKey moves one pending value into the config. The volume of a replaced drive becomes unused.
func (s *Sim) applyKey(conf *config, key string) {
	value := conf.Pending[key]
	delete(conf.Pending, key)
	if old, ok := conf.Values[key]; ok && isDisk(QEMU, key) {
		o, err1 := parseDrive(key, old)
		n, err2 := parseDrive(key, value)
		if err1 == nil && err2 == nil && o.file() != n.file() {
			s.moveToUnused(QEMU, conf, key, old)
		}
	}
	conf.Values[key] = value
}
