package pvesim

import (
	"fmt"
	"os"
	"strings"
)

// vmlist is the cluster file system's list of guests. Each guest has a version, which rises with every change of the config file from any
// source.
type vmlist struct {
	version int
	guests  map[int]vmlistEntry
}

type vmlistEntry struct {
	version int
	kind    Kind
	node    string
	digest  string
}

// syncVMList updates the list and its file. The state is locked.
func (s *Sim) syncVMList() {
	if s.opts.VMListFile == "" {
		return
	}
	changed := false
	for id, g := range s.guests {
		if l := s.vmlist.guests[id]; l.digest != g.digest || l.node != g.node || l.kind != g.kind {
			s.vmlist.version++
			s.vmlist.guests[id] = vmlistEntry{version: s.vmlist.version, kind: g.kind, node: g.node, digest: g.digest}
			changed = true
		}
	}
	for id := range s.vmlist.guests {
		if s.guests[id] == nil {
			s.vmlist.version++
			delete(s.vmlist.guests, id)
			changed = true
		}
	}
	if !changed {
		return
	}
	if err := s.writeVMList(); err != nil {
		s.addViolation("write the list of guests: %v", err)
	}
}

// writeVMList replaces the whole file, in the format of the real file.
func (s *Sim) writeVMList() error {
	var rows []string
	for _, id := range s.vmids() {
		l := s.vmlist.guests[id]
		rows = append(rows, fmt.Sprintf("\"%d\": { \"node\": \"%s\", \"type\": \"%s\", \"version\": %d }", id, l.node, l.kind, l.version))
	}
	text := fmt.Sprintf("{\n\"version\": %d,\n\"ids\": {\n%s}\n\n}\n", s.vmlist.version, strings.Join(rows, ",\n"))
	tmp := s.opts.VMListFile + ".tmp"
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, s.opts.VMListFile)
}
