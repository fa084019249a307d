package pvesim

import (
	"slices"
	"strings"
)

// guard holds the announcements of a test: which guests its client may destroy and which volumes it may free. The client's reasons are
// not known here.
type guard struct {
	enabled           bool
	announcedDestroys map[int]string // marker by vmid
	announcedFrees    map[string]bool
}

// Guard makes Violations check for loss of data: from now on a guest that is destroyed or a volume that is freed through the API is a
// violation unless the test has announced it. Volumes that can be created again (cloud-init images, saved memory, volumes of a failed
// creation) need no announcement.
func (s *Sim) Guard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guard.enabled = true
}

// AnnounceDestroy permits one destruction of a guest, with the volumes that its config names, if the guest then has the tag marker. An
// empty marker permits it with any tags.
func (s *Sim) AnnounceDestroy(vmid int, marker string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guard.announcedDestroys[vmid] = marker
}

// AnnounceFree permits that a volume is freed: by the deletion of an unused or detached disk, by a move that deletes its source, or as an
// unreferenced volume of a destroyed guest.
func (s *Sim) AnnounceFree(volume string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guard.announcedFrees[volume] = true
}

// freeReason states why a volume is freed.
type freeReason string

// These reasons need no announcement. All other reasons describe the request.
const (
	freedAfterFailure  freeReason = "failed allocation"
	freedDetachedImage freeReason = "detached cloud-init image"
	freedAfterResume   freeReason = "resumed"
	freedOnHost        freeReason = "removed on the host"
)

// destroyReasonPrefix begins the reason of the volumes that the config of a destroyed guest names.
const destroyReasonPrefix = "destroy of "

// checkFree records a violation if a volume is freed without a reason or without an announcement. The state is locked.
func (s *Sim) checkFree(id string, reason freeReason) {
	switch reason {
	case "":
		s.addViolation("volume %s freed without a destroy or a delete", id)
	case freedAfterFailure, freedDetachedImage, freedAfterResume, freedOnHost:
		return
	}
	if s.guard.enabled && !strings.HasPrefix(string(reason), destroyReasonPrefix) && !s.guard.announcedFrees[id] {
		s.addViolation("volume %s freed by %s, which was not announced", id, reason)
	}
	delete(s.guard.announcedFrees, id)
}

// checkDestroy records a violation if a guest is destroyed without an announcement or without the announced tag. The state is locked.
func (s *Sim) checkDestroy(g *guest) {
	if !s.guard.enabled {
		return
	}
	marker, announced := s.guard.announcedDestroys[g.vmid]
	delete(s.guard.announcedDestroys, g.vmid)
	tags := listOf(g.conf.Values["tags"])
	switch {
	case !announced:
		s.addViolation("guest %d destroyed, which was not announced", g.vmid)
	case marker != "" && !slices.Contains(tags, marker):
		s.addViolation("guest %d destroyed with the tags %q, announced with %s", g.vmid, tags, marker)
	}
}

// checkEffectQuorum records a violation for an effect that a cluster without quorum cannot have. The state is locked.
func (s *Sim) checkEffectQuorum(vmid int, op Op) {
	if g := s.guests[vmid]; g != nil && !s.isQuorate(g.node) && op != Started && op != Stopped {
		s.addViolation("guest %d %s without quorum", vmid, op)
	}
}
