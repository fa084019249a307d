package pvesim

import (
	"slices"
	"strings"
)

// guard holds what a test says that its client may destroy. It knows nothing of the client's own reasons.
type guard struct {
	enabled           bool
	announcedDestroys map[int]string // marker by vmid
	announcedFrees    map[string]bool
}

// Guard makes Violations watch over data: from now on no guest is destroyed and no volume is freed through the API unless the test has
// announced it. What is made anew at will (cloud-init images, saved memory, volumes of a creation that failed) needs no announcement.
func (s *Sim) Guard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guard.enabled = true
}

// AnnounceDestroy says that a guest may be destroyed once, with the volumes that its config names, if it then bears the tag marker; an
// empty marker fits every guest.
func (s *Sim) AnnounceDestroy(vmid int, marker string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guard.announcedDestroys[vmid] = marker
}

// AnnounceFree says that a volume may be freed: by deleting an unused or a detached disk, by a move that deletes its source, or as an
// unreferenced volume of a guest that is destroyed.
func (s *Sim) AnnounceFree(volume string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guard.announcedFrees[volume] = true
}

// freeReason says why a volume goes.
type freeReason string

// The losses that cost nothing. All others are described by what was asked for.
const (
	freedAfterFailure  freeReason = "failed allocation"
	freedDetachedImage freeReason = "detached cloud-init image"
	freedAfterResume   freeReason = "resumed"
	freedOnHost        freeReason = "removed by hand"
)

const destroyReasonPrefix = "destroy of "

// checkFree notes a volume that goes without an announcement. The state is locked.
func (s *Sim) checkFree(id string, why freeReason) {
	switch why {
	case "":
		s.addViolation("volume %s freed without a destroy or a delete", id)
	case freedAfterFailure, freedDetachedImage, freedAfterResume, freedOnHost:
		return
	}
	if s.guard.enabled && !strings.HasPrefix(string(why), destroyReasonPrefix) && !s.guard.announcedFrees[id] {
		s.addViolation("volume %s freed by %s, which was not announced", id, why)
	}
	delete(s.guard.announcedFrees, id)
}

// checkDestroy notes a guest that goes without an announcement, or with other marks than the announced one. The state is locked.
func (s *Sim) checkDestroy(g *guest) {
	if !s.guard.enabled {
		return
	}
	marker, announced := s.guard.announcedDestroys[g.vmid]
	delete(s.guard.announcedDestroys, g.vmid)
	tags := listOf(g.conf.values["tags"])
	switch {
	case !announced:
		s.addViolation("guest %d destroyed, which was not announced", g.vmid)
	case marker != "" && !slices.Contains(tags, marker):
		s.addViolation("guest %d destroyed with the tags %q, announced with %s", g.vmid, tags, marker)
	}
}

// checkEffectQuorum notes an effect that a cluster without quorum cannot have. The state is locked.
func (s *Sim) checkEffectQuorum(vmid int, op Op) {
	if s.noQuorum && op != Started && op != Stopped {
		s.addViolation("guest %d %s without quorum", vmid, op)
	}
}
