package pvesim

import (
	"slices"
	"strings"
)

// guard holds what a test says that its client may destroy. It knows nothing of the client's own reasons.
type guard struct {
	armed    bool
	destroys map[int]string // marker by vmid
	frees    map[string]bool
}

// Guard makes Violations watch over data: from now on no guest is destroyed and no volume is freed through the API unless the test has
// announced it. What is made anew at will (cloud-init images, saved memory, volumes of a creation that failed) needs no announcement.
func (s *Sim) Guard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guard.armed = true
}

// AnnounceDestroy says that a guest may be destroyed once, with the volumes that its config names, if it then bears the tag marker; an
// empty marker fits every guest.
func (s *Sim) AnnounceDestroy(vmid int, marker string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guard.destroys[vmid] = marker
}

// AnnounceFree says that a volume may be freed: by deleting an unused or a detached disk, by a move that deletes its source, or as an
// unreferenced volume of a guest that is destroyed.
func (s *Sim) AnnounceFree(volume string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guard.frees[volume] = true
}

// loss says why a volume goes.
type loss string

// The losses that cost nothing. All others are described by what was asked for.
const (
	lossFailed   loss = "failed allocation"
	lossDetached loss = "detached cloud-init image"
	lossResumed  loss = "resumed"
	lossByHand   loss = "removed by hand"
)

const lossOfGuest = "destroy of "

// watchFree notes a volume that goes without an announcement. The state is locked.
func (s *Sim) watchFree(id string, why loss) {
	switch why {
	case "":
		s.violate("volume %s freed without a destroy or a delete", id)
	case lossFailed, lossDetached, lossResumed, lossByHand:
		return
	}
	if s.guard.armed && !strings.HasPrefix(string(why), lossOfGuest) && !s.guard.frees[id] {
		s.violate("volume %s freed by %s, which was not announced", id, why)
	}
	delete(s.guard.frees, id)
}

// watchDestroy notes a guest that goes without an announcement, or with other marks than the announced one. The state is locked.
func (s *Sim) watchDestroy(g *guest) {
	if !s.guard.armed {
		return
	}
	marker, announced := s.guard.destroys[g.vmid]
	delete(s.guard.destroys, g.vmid)
	tags := listOf(g.conf.values["tags"])
	switch {
	case !announced:
		s.violate("guest %d destroyed, which was not announced", g.vmid)
	case marker != "" && !slices.Contains(tags, marker):
		s.violate("guest %d destroyed with the tags %q, announced with %s", g.vmid, tags, marker)
	}
}

// watchQuorum notes an effect that a cluster without quorum cannot have. The state is locked.
func (s *Sim) watchQuorum(vmid int, op Op) {
	if s.inquorate && op != Started && op != Stopped {
		s.violate("guest %d %s without quorum", vmid, op)
	}
}
