package volumes

import (
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Written notes that a call of this agent changed a guest, and ends its reservations: the next check reads the guest again.
func (s *Source) Written(vmid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for other, at := range s.written {
		if now.Sub(at) > 2*Window {
			delete(s.written, other) // no reading that a check uses is older
		}
	}
	s.written[vmid] = now
	s.endReservations(vmid)
}

// reserve reserves volumes for a guest until Written. It returns a refusal if a call for another guest acts on one of them now.
func (s *Source) reserve(ref guest.Ref, l layout, touches []cluster.Touch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range touches {
		if by, taken := s.reserved[l.key(t.Volume)]; taken && by != ref.VMID && t.Volume != "" {
			use := Use{Guest: guest.Ref{VMID: by}, Reference: guest.Reference{Key: "a step that runs now", Part: guest.InCurrent, Relation: guest.Holds}}
			return &InUseError{Guest: ref, Volume: t.Volume, Effect: t.Effect, By: []Use{use}}
		}
	}
	for _, t := range touches {
		if t.Volume != "" {
			s.reserved[l.key(t.Volume)] = ref.VMID
		}
	}
	return nil
}

// release ends the reservations of a guest whose call is not sent.
func (s *Source) release(vmid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endReservations(vmid)
}

// endReservations ends the reservations of a guest. The mutex is held.
func (s *Source) endReservations(vmid int) {
	for key, by := range s.reserved {
		if by == vmid {
			delete(s.reserved, key)
		}
	}
}
