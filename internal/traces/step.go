package traces

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// maxRequests bounds the spans of requests of a step. More of them are counted.
const maxRequests = 100

// apiBase is the path of the API on every endpoint.
const apiBase = "/api2/json"

// stepFacts are what is known of a step when it begins.
type stepFacts struct {
	id, guest, op, class, node, why, revision string
	vmid                                      int
	begun                                     time.Time
}

// step is a step that has not ended.
type step struct {
	stepFacts
	position

	parent   position
	request  *request  // the newest, which another one may extend; nil if there is none
	answered time.Time // when the request before it had its reply; zero before the first
	requests int       // spans that were emitted
	omitted  int       // requests without a span
}

// request is one request, or several reads of the same kind that follow each other, such as the questions whether a task runs.
type request struct {
	cluster.Exchange
	begun, end time.Time
	count      int
}

// StepBegun begins the span of a step.
func (r *Recorder) StepBegun(s report.StepBegun) {
	r.record(func(now time.Time) {
		facts := stepFacts{
			id: s.ID, vmid: s.Step.Guest.VMID, guest: s.Step.Guest.Label(), op: string(s.Step.Op), class: string(s.Step.Class), why: s.Step.Reason, revision: s.Revision, begun: now,
		}
		if calls := s.Step.Calls; len(calls) > 0 {
			facts.node = calls[0].Node
		}
		r.addStep(facts)
	})
}

func (r *Recorder) addStep(facts stepFacts) {
	parent, found := r.revisionOf(commitOf(facts.revision))
	if !found {
		parent = r.repairBy(facts)
	}
	r.steps[facts.id] = &step{stepFacts: facts, position: stepAt(parent, facts.id), parent: parent}
}

// StepEnded emits the span of a step.
func (r *Recorder) StepEnded(o report.StepOutcome) {
	r.record(func(now time.Time) { r.endStep(o.ID, o.Result, o.Err, now) })
}

// StepSettled emits the span of a step that a crash or a lost reply left open.
func (r *Recorder) StepSettled(o report.SettledOutcome) {
	r.record(func(now time.Time) { r.endStep(o.Step.Step, o.Result, o.Err, now, flag(keyResumed)) })
}

func (r *Recorder) endStep(id string, result journal.Result, err error, now time.Time, more ...attribute) {
	s := r.steps[id]
	if s == nil {
		return // traces were turned on after it had begun
	}
	delete(r.steps, id)
	r.endRequest(s)
	done := span{
		name: spanStep + " " + s.op, id: s.span, begun: s.begun, end: now,
		attributes: append(ofGuest(s.guest, s.vmid), text(keyStep, id), text(keyOp, s.op), text(keyClass, s.class), text(keyResult, string(result))),
	}
	if s.node != "" {
		done.attributes = append(done.attributes, text(keyNode, s.node))
	}
	if s.why != "" {
		done.attributes = append(done.attributes, text(keyWhy, s.why))
	}
	if s.omitted > 0 {
		more = append(more, number(keyOmitted, s.omitted))
	}
	done.attributes = append(done.attributes, more...)
	if result != journal.Done {
		done.problem = string(result)
		if err != nil {
			done.problem += ": " + err.Error()
		}
	}
	r.emit(s.parent, done)
}

// Request notes a request of a step. Reads of the same kind that follow each other are one span.
func (r *Recorder) Request(e cluster.Exchange) {
	if e.Step == "" {
		return
	}
	r.record(func(now time.Time) {
		s := r.steps[e.Step]
		if s == nil {
			return
		}
		this := &request{Exchange: e, begun: now.Add(-e.Duration), end: now, count: 1}
		if last := s.request; last != nil && last.extends(e) {
			last.end, last.count = now, last.count+1
			return
		}
		r.endRequest(s)
		if this.isWait() && !s.answered.IsZero() {
			this.begun = s.answered
		}
		s.request = this
		if e.Method != http.MethodGet {
			r.endRequest(s)
		}
	})
}

// extends reports whether an exchange is one more read of the same kind.
func (q *request) extends(e cluster.Exchange) bool {
	last := q.Exchange
	last.Duration, e.Duration = 0, 0
	return e.Method == http.MethodGet && last == e
}

// isWait reports whether the reads ask whether a task has ended.
func (q *request) isWait() bool { return strings.HasSuffix(q.Route, "/tasks/{upid}/status") }

// endRequest emits the span of the newest request of a step.
func (r *Recorder) endRequest(s *step) {
	q := s.request
	if q == nil {
		return
	}
	s.request, s.answered = nil, q.end
	if s.requests == maxRequests {
		s.omitted += q.count
		return
	}
	s.requests++
	done := span{
		name: q.Method + " " + q.Route, isRequest: true, begun: q.begun, end: q.end,
		attributes: append(ofServer(q.Endpoint), text(keyMethod, q.Method), text(keyTemplate, apiBase+q.Route)),
	}
	if q.isWait() {
		done.name = spanTask
	}
	if q.Node != "" {
		done.attributes = append(done.attributes, text(keyNode, q.Node))
	}
	if q.UPID != "" {
		done.attributes = append(done.attributes, text(keyUPID, q.UPID))
	}
	if q.count > 1 {
		done.attributes = append(done.attributes, number(keyRequests, q.count))
	}
	switch code, err := strconv.Atoi(q.Code); {
	case err != nil:
		done.attributes = append(done.attributes, text(keyError, "no_reply"))
		done.problem = "no reply"
	default:
		done.attributes = append(done.attributes, number(keyStatus, code))
		if code >= http.StatusBadRequest {
			done.attributes = append(done.attributes, text(keyError, q.Code))
			done.problem = "status " + q.Code
		}
	}
	r.emit(s.position, done)
}
