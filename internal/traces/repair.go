package traces

import (
	"time"

	"gitops-agent/reconcile/report"
)

// repair brings a guest back into sync that differs from a revision whose trace has ended. Its trace begins with its first step: a guest that a person
// brings back has none.
type repair struct {
	position // zero before the first step
	guest    string
	vmid     int
	begun    time.Time
	keys     []string
	cause    position // of the revision
	earlier  []span   // that ended before the first step
}

// maxEarlier bounds the spans of a repair that wait for its first step.
const maxEarlier = 16

// Drift begins a repair of a guest that was in sync.
func (r *Recorder) Drift(o report.DriftOutcome) {
	r.record(func(now time.Time) {
		if o.Cause != report.DriftCluster || r.current != nil {
			return
		}
		repaired := r.repair(o.Guest.VMID, o.Guest.Label(), now)
		repaired.keys = o.Keys
	})
}

// repair returns the repair of a guest.
func (r *Recorder) repair(vmid int, guest string, begun time.Time) *repair {
	if r.repairs[vmid] == nil {
		r.repairs[vmid] = &repair{vmid: vmid, guest: guest, begun: begun}
	}
	return r.repairs[vmid]
}

// repairBy returns the repair of which a step is part.
func (r *Recorder) repairBy(facts stepFacts) position {
	p := r.repair(facts.vmid, facts.guest, facts.begun)
	if p.isZero() {
		p.position = repairAt(r.opts.Cluster, facts.id)
		if facts.revision != "" {
			p.cause = revisionAt(r.opts.Cluster, commitOf(facts.revision))
		}
		for _, s := range p.earlier {
			r.emit(p.position, s)
		}
		p.earlier = nil
	}
	return p.position
}

// endRepairs ends the repairs of guests that are in sync, or that are gone.
func (r *Recorder) endRepairs(newest report.Report, now time.Time) {
	if len(r.repairs) == 0 || newest.Source.Accepted == nil {
		return
	}
	differs := make(map[int]bool)
	for i := range newest.Guests {
		if g := &newest.Guests[i]; g.Sync != report.Synced {
			differs[g.VMID] = true
		}
	}
	for _, s := range r.steps {
		differs[s.vmid] = true
	}
	for vmid := range r.repairs {
		if !differs[vmid] {
			r.endRepair(vmid, resultRepaired, now)
		}
	}
}

// supersedeRepairs ends every repair: from now on, steps belong to a new revision.
func (r *Recorder) supersedeRepairs(now time.Time) {
	for vmid := range r.repairs {
		r.endRepair(vmid, resultSuperseded, now)
	}
}

func (r *Recorder) endRepair(vmid int, result string, now time.Time) {
	p := r.repairs[vmid]
	delete(r.repairs, vmid)
	if p.isZero() {
		return
	}
	s := span{name: spanRepair, id: p.span, begun: p.begun, end: now, cause: p.cause, attributes: append(ofGuest(p.guest, p.vmid), text(keyResult, result))}
	if len(p.keys) > 0 {
		s.attributes = append(s.attributes, texts(keyKeys, p.keys))
	}
	r.emit(p.position, s)
}
