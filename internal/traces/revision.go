package traces

import (
	"maps"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/report"
)

// revision is a commit that was accepted.
type revision struct {
	position
	commit string
	begun  time.Time // the fetch in which it was seen first began
	// resumed says that an earlier process accepted it.
	resumed bool
	planned map[guest.Class]int // as in the newest span of a plan; nil before the first
	plans   int
}

// maxPlans bounds the spans of plans of a revision.
const maxPlans = 32

// intake is what the newest poll has done so far, and when a head was seen first that could not be checked.
type intake struct {
	verified   report.VerifyOutcome
	verifiedAt time.Time // zero if the poll has verified nothing
	unchecked  string
	since      time.Time
	refused    poll // the newest one of a head that was refused
}

// poll is a poll that found a new head.
type poll struct {
	commit       string
	begun, ended time.Time
	seen         time.Time // when its commit was seen first
	fetch        time.Duration
	verified     report.VerifyOutcome
	verifiedAt   time.Time
}

// Verified notes that a revision was checked. The poll to which the check belongs follows.
func (r *Recorder) Verified(o report.VerifyOutcome) {
	r.record(func(now time.Time) { r.intake.verified, r.intake.verifiedAt = o, now })
}

// Poll begins the trace of a commit that was accepted.
func (r *Recorder) Poll(o report.PollOutcome) {
	r.record(func(now time.Time) {
		in := &r.intake
		p := poll{commit: o.Head, begun: now.Add(-o.Duration), ended: now, fetch: o.Fetch}
		if in.verified.Commit == o.Head {
			p.verified, p.verifiedAt = in.verified, in.verifiedAt
		}
		in.verified, in.verifiedAt = report.VerifyOutcome{}, time.Time{}
		if p.seen = p.begun; in.unchecked == o.Head && o.Head != "" {
			p.seen = in.since
		}
		switch o.Result {
		case report.PollAccepted:
			in.unchecked = ""
			r.beginRevision(p)
		case report.PollRefused:
			in.refused = p
		case report.PollUnchecked:
			in.unchecked, in.since = o.Head, p.seen
		case report.PollUnchanged, report.PollFailed, report.PollWaiting:
		}
	})
}

func (r *Recorder) beginRevision(p poll) {
	held := r.endHolds(p.ended)
	if r.current != nil {
		r.endRevision(resultSuperseded, p.ended)
	}
	r.supersedeRepairs(p.ended)
	r.current = &revision{position: revisionAt(r.opts.Cluster, p.commit), commit: p.commit, begun: p.seen}
	r.emitPoll(r.current.position, p, "", "")
	for _, o := range held { // the engine reports a hold that goes on only once
		r.beginHold(o, p.ended)
	}
}

// emitPoll emits the spans of a poll. Reason is why the commit was refused.
func (r *Recorder) emitPoll(root position, p poll, reason, problem string) {
	fetched := p.begun.Add(p.fetch)
	r.emit(root, span{name: spanFetch, begun: p.begun, end: fetched})
	if p.verifiedAt.IsZero() {
		return
	}
	verify := span{name: spanVerify, begun: p.verifiedAt.Add(-p.verified.Duration), end: p.verifiedAt}
	if p.verified.Reason != "" {
		verify.attributes = []attribute{text(keyResult, resultRefused), text(keyReason, p.verified.Reason)}
		verify.problem = problem
		r.emit(root, verify)
		return
	}
	verify.attributes = []attribute{text(keyResult, "verified"), text(keySigner, p.verified.Signer)}
	r.emit(root, verify)
	accept := span{name: spanAccept, begun: p.verifiedAt, end: p.ended, problem: problem}
	if reason != "" {
		accept.attributes = []attribute{text(keyReason, reason)}
	}
	r.emit(root, accept)
}

// Refused emits the trace of a commit that was refused, once for each reason.
func (r *Recorder) Refused(o report.Refused) {
	r.record(func(now time.Time) {
		if !r.remember(Refusal{o.Commit, o.Reason}) {
			return
		}
		root := refusalAt(r.opts.Cluster, o.Commit, o.Reason)
		problem, seen := o.Reason+": "+o.Error, o.Since
		if p := r.intake.refused; p.commit == o.Commit {
			r.emitPoll(root, p, o.Reason, problem)
			seen = p.seen
		}
		r.emit(root, span{
			name: spanRevision, id: root.span, begun: seen, end: now, problem: problem,
			attributes: append(ofCommit(o.Commit, r.branch), text(keyResult, resultRefused), text(keyReason, o.Reason)),
		})
	})
}

// Planned emits a span for a plan whose steps differ from those of the plan before.
func (r *Recorder) Planned(o report.PlanOutcome) {
	r.record(func(now time.Time) {
		r.resume(commitOf(o.Revision))
		v := r.current
		if v == nil || v.commit != commitOf(o.Revision) || v.plans == maxPlans || v.planned != nil && maps.Equal(v.planned, o.Steps) {
			return
		}
		v.planned, v.plans = maps.Clone(o.Steps), v.plans+1
		if v.planned == nil {
			v.planned = map[guest.Class]int{}
		}
		s := span{name: spanPlan, begun: now.Add(-o.Duration), end: now}
		for _, class := range guest.Classes() {
			s.attributes = append(s.attributes, number(keySteps+string(class), o.Steps[class]))
		}
		r.emit(v.position, s)
	})
}

// endRevision emits the root of the current revision.
func (r *Recorder) endRevision(result string, at time.Time) {
	v := r.current
	s := span{
		name: spanRevision, id: v.span, begun: v.begun, end: at,
		attributes: append(ofCommit(v.commit, r.branch), text(keyResult, result)),
	}
	if v.resumed {
		s.attributes = append(s.attributes, flag(keyResumed))
	}
	r.emit(v.position, s)
	r.current, r.replaced = nil, *v
}

// resume continues the trace of a commit that an earlier process accepted, unless its guests have all been in sync since.
func (r *Recorder) resume(commit string) {
	if r.current == nil && commit != "" && commit == r.past.Commit && !r.past.Converged && commit != r.converged {
		r.current = &revision{position: revisionAt(r.opts.Cluster, commit), commit: commit, begun: r.past.Accepted, resumed: true}
	}
}

// revisionOf returns the revision of a commit if its trace has not ended.
func (r *Recorder) revisionOf(commit string) (position, bool) {
	r.resume(commit)
	switch {
	case commit == "": // the step of an older journal
		return position{}, false
	case r.current != nil && r.current.commit == commit:
		return r.current.position, true
	case r.replaced.commit == commit && r.converged != commit: // a step of it still runs
		return r.replaced.position, true
	}
	return position{}, false
}
