package traces

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

const (
	first  = "1111111111111111111111111111111111111111"
	second = "2222222222222222222222222222222222222222"
)

var web = guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}

// lab is a recorder to which a test tells what the engine does. Nothing sends its spans.
type lab struct {
	*testing.T
	*Recorder
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t, New(Options{Cluster: "home"})}
	l.Configure(Settings{Branch: "main", Collector: &Collector{}})
	return l
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, test func(l *lab)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(newLab(t)) })
}

// spans returns the spans that were emitted since the last call.
func (l *lab) spans() []*tracepb.Span {
	var found []*tracepb.Span
	for len(l.queue.spans) > 0 {
		found = append(found, <-l.queue.spans)
	}
	return found
}

// attributesOf returns the attributes of a span, and its error.
func attributesOf(s *tracepb.Span) map[string]string {
	found := map[string]string{}
	for _, a := range s.GetAttributes() {
		switch v := a.GetValue(); {
		case v.GetArrayValue() != nil:
			found[a.GetKey()] = fmt.Sprint(len(v.GetArrayValue().GetValues()))
		case v.GetIntValue() != 0:
			found[a.GetKey()] = fmt.Sprint(v.GetIntValue())
		case v.GetBoolValue():
			found[a.GetKey()] = "true"
		default:
			found[a.GetKey()] = v.GetStringValue()
		}
	}
	if s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
		found["error"] = s.GetStatus().GetMessage()
	}
	return found
}

// outline prints spans in the order in which they were emitted: name, position in the tree, times since a point, and chosen attributes.
func outline(spans []*tracepb.Span, since time.Time, keys ...string) []string {
	byID := map[string]*tracepb.Span{}
	for _, s := range spans {
		byID[string(s.GetSpanId())] = s
	}
	var lines []string
	for _, s := range spans {
		name := s.GetName()
		for p := s; len(p.GetParentSpanId()) > 0; {
			parent := byID[string(p.GetParentSpanId())]
			if parent == nil {
				name = "…/" + name
				break
			}
			name, p = parent.GetName()+"/"+name, parent
		}
		seconds := func(nano uint64) string { return fmt.Sprint(time.Unix(0, int64(nano)).Sub(since).Seconds()) }
		line := []string{name, seconds(s.GetStartTimeUnixNano()) + "-" + seconds(s.GetEndTimeUnixNano())}
		attributes := attributesOf(s)
		for _, k := range append(keys, "error") {
			if v, found := attributes[k]; found {
				line = append(line, strings.TrimPrefix(k, "gitops_agent.")+"="+v)
			}
		}
		lines = append(lines, strings.Join(line, " "))
	}
	return lines
}

func (l *lab) want(since time.Time, keys []string, want ...string) []*tracepb.Span {
	l.Helper()
	spans := l.spans()
	if diff := cmp.Diff(want, outline(spans, since, keys...)); diff != "" {
		l.Errorf("spans differ (-want +got)\n%s", diff)
	}
	return spans
}

// wantTrace fails the test unless all spans are of one trace, which it returns.
func (l *lab) wantTrace(spans []*tracepb.Span) traceID {
	l.Helper()
	for _, s := range spans {
		if string(s.GetTraceId()) != string(spans[0].GetTraceId()) {
			l.Fatalf("got %s in another trace than %s, want one trace", s.GetName(), spans[0].GetName())
		}
	}
	return traceID(spans[0].GetTraceId())
}

// accept tells of a poll of 2 s: a fetch, 1 s; a check, 1 s.
func (l *lab) accept(commit string) {
	time.Sleep(2 * time.Second)
	l.Verified(report.VerifyOutcome{Commit: commit, Signer: "alice@example.org", Duration: time.Second})
	l.Poll(report.PollOutcome{Result: report.PollAccepted, Head: commit, Duration: 2 * time.Second, Fetch: time.Second})
}

func revisionName(commit string) string { return "main@sha1:" + commit }

func (l *lab) begin(id, commit string, ref guest.Ref) plan.Step {
	step := plan.Step{Guest: ref, Op: cluster.OpConfig, Class: guest.Live, Reason: "memory", Calls: []cluster.Call{{Node: "pve1"}}}
	l.StepBegun(report.StepBegun{Step: step, ID: id, Revision: revisionName(commit)})
	return step
}

func (l *lab) end(id, commit string, step plan.Step, result journal.Result, err error) {
	l.StepEnded(report.StepOutcome{Step: step, ID: id, Revision: revisionName(commit), Result: result, Err: err})
}

// request tells of a request of a step that takes a second.
func (l *lab) request(step, method, route, code string) {
	time.Sleep(time.Second)
	e := cluster.Exchange{Method: method, Route: route, Code: code, Endpoint: "pve1.test:8006", Node: "pve1", Step: step, Duration: time.Second}
	if strings.Contains(route, "{upid}") {
		e.UPID = "UPID:pve1:1:"
	}
	l.Request(e)
}

func (l *lab) converge(commit string) {
	l.Report(report.Report{Source: report.Source{Accepted: &report.Revision{Commit: commit, Converged: time.Now()}}})
}

const taskStatus = "/nodes/{node}/tasks/{upid}/status"

// One trace has everything from the first sight of a commit until its guests are in sync, each span below the one that caused it.
func TestTraceOfARevision(t *testing.T) {
	bubble(t, func(l *lab) {
		began := time.Now()
		l.Poll(report.PollOutcome{Result: report.PollUnchecked, Head: first}) // the floor could not be read
		l.accept(first)
		l.Planned(report.PlanOutcome{Revision: revisionName(first), Duration: time.Second, Steps: map[guest.Class]int{guest.Live: 1}})
		l.Planned(report.PlanOutcome{Revision: revisionName(first), Duration: time.Second, Steps: map[guest.Class]int{guest.Live: 1}})
		step := l.begin("s1", first, web)
		l.request("", "GET", "/cluster/resources", "200")
		l.request("s1", "GET", "/pools", "200")
		l.request("s1", "PUT", "/config", "200")
		for range 3 {
			time.Sleep(time.Second)
			l.request("s1", "GET", taskStatus, "200")
		}
		l.request("s1", "POST", "/status/start", "none")
		l.request("s1", "POST", "/status/start", "500")
		l.end("s1", first, step, journal.Done, nil)
		l.converge(first)
		l.converge(first)
		spans := l.want(began, []string{keyCommit, keyResult, keySigner, keySteps + "live", keyVMID, keyRequests, keyStatus, keyUPID},
			"revision/fetch 0-1",
			"revision/verify 1-2 result=verified signer=alice@example.org",
			"revision/accept 2-2",
			"revision/plan 1-2 steps.live=1",
			"revision/step config/GET /pools 3-4 http.response.status_code=200",
			"revision/step config/PUT /config 4-5 http.response.status_code=200",
			"revision/step config/wait for task 5-11 requests=3 http.response.status_code=200 proxmox.upid=UPID:pve1:1:",
			"revision/step config/POST /status/start 11-12 error=no reply",
			"revision/step config/POST /status/start 12-13 http.response.status_code=500 error=status 500",
			"revision/step config 2-13 result=done vmid=201",
			"revision 0-13 vcs.ref.head.revision="+first+" result=converged",
		)
		if got := l.wantTrace(spans); got != newTraceID("home", first) {
			t.Errorf("got trace %s, want the one of the commit", got)
		}
	})
}

func TestTraceOfASupersededRevision(t *testing.T) {
	bubble(t, func(l *lab) {
		l.accept(first)
		step := l.begin("s1", first, web)
		began := time.Now()
		l.accept(second)
		l.end("s1", first, step, journal.Failed, errors.New("it was refused"))
		l.converge(second)
		spans := l.want(began, []string{keyCommit, keyResult},
			"revision/fetch -2--1", "revision/verify -1-0 result=verified", "revision/accept 0-0",
			"revision -2-2 vcs.ref.head.revision="+first+" result=superseded",
			"revision/fetch 0-1", "revision/verify 1-2 result=verified", "revision/accept 2-2",
			"revision/step config 0-2 result=failed error=failed: it was refused",
			"revision 0-2 vcs.ref.head.revision="+second+" result=converged",
		)
		if string(spans[3].GetTraceId()) == string(spans[8].GetTraceId()) || string(spans[7].GetTraceId()) != string(spans[3].GetTraceId()) {
			t.Error("got other traces, want one for each revision, and the step in that of the revision that planned it")
		}
	})
}

func TestTraceOfARefusal(t *testing.T) {
	bubble(t, func(l *lab) {
		began := time.Now()
		time.Sleep(2 * time.Second)
		l.Verified(report.VerifyOutcome{Commit: first, Reason: "unknown-signer", Duration: time.Second})
		l.Poll(report.PollOutcome{Result: report.PollRefused, Head: first, Duration: 2 * time.Second, Fetch: time.Second})
		refused := report.Refused{Commit: first, Reason: "unknown-signer", Error: "nobody knows bob", Since: time.Now()}
		l.Refused(refused)
		l.Refused(refused)
		const problem = " error=unknown-signer: nobody knows bob"
		l.wantTrace(l.want(began, []string{keyCommit, keyResult, keyReason},
			"revision/fetch 0-1",
			"revision/verify 1-2 result=refused reason=unknown-signer"+problem,
			"revision 0-2 vcs.ref.head.revision="+first+" result=refused reason=unknown-signer"+problem,
		))
		// A person adds the signer, and the manifests are wrong. Then they are right.
		l.Verified(report.VerifyOutcome{Commit: first, Signer: "bob@example.org"})
		l.Poll(report.PollOutcome{Result: report.PollRefused, Head: first})
		l.Refused(report.Refused{Commit: first, Reason: "manifest-invalid", Error: "web.yaml:1:1: no kind", Since: time.Now()})
		spans := l.want(began, []string{keyReason},
			"revision/fetch 2-2", "revision/verify 2-2",
			"revision/accept 2-2 reason=manifest-invalid error=manifest-invalid: web.yaml:1:1: no kind",
			"revision 2-2 reason=manifest-invalid error=manifest-invalid: web.yaml:1:1: no kind",
		)
		if got := l.wantTrace(spans); got != newTraceID("home", first) {
			t.Errorf("got trace %s, want the one of the commit", got)
		}
	})
}

// A process that was killed has emitted no root, and has left a step open. The next one continues its trace.
func TestTraceGoesOnInTheNextProcess(t *testing.T) {
	bubble(t, func(killed *lab) {
		killed.accept(first)
		accepted := time.Now()
		killed.begin("s1", first, web)
		killed.request("s1", "PUT", "/config", "200")
		before := killed.spans()
		time.Sleep(time.Minute)

		l := newLab(t)
		past := Past{Commit: first, Accepted: accepted, Open: []journal.OpenStep{{
			Begun: journal.Begun{Step: "s1", VMID: 201, Kind: "VirtualMachine", Name: "web-1", Op: "config", Revision: revisionName(first)}, Time: accepted,
		}}}
		l.Resume(past)
		l.Resume(past) // a reload
		l.request("s1", "GET", taskStatus, "200")
		l.StepSettled(report.SettledOutcome{Step: past.Open[0], Result: journal.Done})
		l.converge(first)
		after := l.want(accepted, []string{keyResult, keyResumed},
			"revision/step config/wait for task 61-62",
			"revision/step config 0-62 result=done resumed=true",
			"revision 0-62 result=converged resumed=true",
		)
		l.wantTrace(append(slices.Clone(before), after...))
		if put, step := before[len(before)-1], after[1]; string(put.GetParentSpanId()) != string(step.GetSpanId()) {
			t.Error("got the request of the killed process below another span, want it below the step that the next process settled")
		}
	})
}

// The guests came into sync without a step of this process.
func TestRootOfAResumedRevisionWithoutSteps(t *testing.T) {
	bubble(t, func(l *lab) {
		began := time.Now()
		l.Resume(Past{Commit: first, Accepted: began})
		l.converge(first)
		l.want(began, []string{keyResult}, "revision 0-0 result=converged")
		l.Resume(Past{Commit: first, Accepted: began, Converged: true})
		l.converge(first)
		l.want(began, nil)
	})
}

// A journal of an older version does not name the revision of a step.
func TestOpenStepWithoutARevision(t *testing.T) {
	bubble(t, func(l *lab) {
		began := time.Now()
		l.Resume(Past{Commit: first, Converged: true})
		l.converge(first)
		open := journal.OpenStep{Begun: journal.Begun{Step: "s1", VMID: 201, Kind: "VirtualMachine", Name: "web-1", Op: "config"}, Time: began}
		l.Resume(Past{Commit: first, Converged: true, Open: []journal.OpenStep{open}})
		l.StepSettled(report.SettledOutcome{Step: open, Result: journal.Done})
		l.converge(first)
		spans := l.want(began, []string{keyResult}, "repair/step config 0-0 result=done", "repair 0-0 result=repaired")
		if l.wantTrace(spans) == (traceID{}) || len(spans[1].GetLinks()) != 0 {
			t.Errorf("got %v, want a trace without a link", spans)
		}
	})
}

// A refusal that the process before has traced is not traced again.
func TestRefusalsOfTheProcessBefore(t *testing.T) {
	bubble(t, func(l *lab) {
		l.Resume(Past{Refused: []Refusal{{first, "unsigned"}}})
		l.Refused(report.Refused{Commit: first, Reason: "unsigned"})
		l.want(time.Now(), nil)
	})
}

func TestTraceOfAHold(t *testing.T) {
	bubble(t, func(l *lab) {
		l.accept(first)
		l.spans()
		began := time.Now()
		held := report.HoldOutcome{Guest: web, Step: report.HeldStep{Op: cluster.OpDestroy, Class: guest.Destructive, Digest: "d1", Hold: report.Hold{Reason: reason.Approval}}}
		l.Hold(event.StepHeld, held)
		time.Sleep(time.Second)
		l.Hold(event.StepHeld, held) // a reload
		held.Step.Digest = "d2"
		l.Hold(event.StepHeld, held)
		time.Sleep(time.Second)
		l.accept(second) // the engine does not report again that the hold goes on
		l.Hold(event.StepReleased, held)
		l.Hold(event.StepReleased, held)
		spans := l.want(began, []string{keyReason, keyDigest, keyResult},
			"revision/hold 0-1 reason=approval digest=d1 result=changed",
			"revision/hold 1-4 reason=approval digest=d2 result=superseded",
			"revision -2-4 result=superseded",
			"…/fetch 2-3", "…/verify 3-4 result=verified", "…/accept 4-4",
			"…/hold 4-4 reason=approval digest=d2 result=released",
		)
		if string(spans[6].GetTraceId()) != string(spans[3].GetTraceId()) {
			t.Error("got the hold that goes on in another trace, want it in that of the newer revision")
		}
	})
}

// A guest that differs from a revision whose trace has ended has a trace of its own, which names the revision.
func TestTraceOfARepair(t *testing.T) {
	bubble(t, func(l *lab) {
		l.accept(first)
		l.converge(first)
		l.spans()
		began := time.Now()
		differs := report.Report{
			Source: report.Source{Accepted: &report.Revision{Commit: first}},
			Guests: []report.Guest{{GuestName: report.GuestName{VMID: 201}, Sync: report.OutOfSync}},
		}
		l.Drift(report.DriftOutcome{Guest: web, Cause: report.DriftCluster, Keys: []string{"memory", "cores"}})
		held := report.HoldOutcome{Guest: web, Step: report.HeldStep{Op: cluster.OpConfig}}
		l.Hold(event.StepHeld, held)
		l.Report(differs)
		time.Sleep(time.Second)
		l.Hold(event.StepReleased, held)
		step := l.begin("s7", first, web)
		time.Sleep(time.Second)
		l.end("s7", first, step, journal.Done, nil)
		l.Report(differs)
		l.converge(first)
		spans := l.want(began, []string{keyResult, keyKeys}, "repair/hold 0-1 result=released", "repair/step config 1-2 result=done", "repair 0-2 result=repaired keys=2")
		if got := l.wantTrace(spans); got == newTraceID("home", first) {
			t.Error("got the trace of the revision, want another one")
		}
		if links := spans[2].GetLinks(); len(links) != 1 || traceID(links[0].GetTraceId()) != newTraceID("home", first) {
			t.Errorf("got links %v, want one to the trace of the revision", links)
		}
		// A person brings the guest back.
		l.Drift(report.DriftOutcome{Guest: web, Cause: report.DriftCluster})
		l.converge(first)
		l.want(began, nil)
	})
}

func TestSpansOfAStepAreBounded(t *testing.T) {
	bubble(t, func(l *lab) {
		l.accept(first)
		step := l.begin("s1", first, web)
		l.spans()
		for i := range maxRequests + 5 {
			l.request("s1", "PUT", fmt.Sprintf("/%d", i), "200")
		}
		l.end("s1", first, step, journal.Done, nil)
		spans := l.spans()
		if got := attributesOf(spans[len(spans)-1])[keyOmitted]; len(spans) != maxRequests+1 || got != "5" {
			t.Errorf("got %d spans, and %q omitted, want %d and 5", len(spans), got, maxRequests+1)
		}
	})
}

// The protocol allows valid UTF-8 only, and a collector refuses a whole batch that it cannot read.
func TestTextsInSpans(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"not UTF-8": "a\xffb", "long": strings.Repeat("ä", maxText), "short": "a"} {
		got := clip(text)
		if !utf8.ValidString(got) || len(got) > maxText+len("…") || name == "short" && got != text {
			t.Errorf("%s: got %d bytes %q, want a text that a span can contain", name, len(got), got)
		}
	}
}

// Without a collector nothing is recorded, and what began before a collector was configured has no span.
func TestRecorderThatIsOff(t *testing.T) {
	bubble(t, func(l *lab) {
		l.accept(first)
		step := l.begin("s1", first, web)
		l.spans()
		l.Configure(Settings{})
		l.end("s1", first, step, journal.Done, nil)
		l.accept(second)
		other := l.begin("s2", second, web)
		l.Refused(report.Refused{Commit: first})
		if traceID, _ := l.IDs(revisionName(second), ""); traceID != "" {
			t.Errorf("got trace %s, want none", traceID)
		}
		l.Configure(Settings{Collector: &Collector{}})
		l.end("s2", second, other, journal.Done, nil)
		l.converge(second)
		l.want(time.Now(), nil)
	})
}

// The ids of a span are those of the log lines and of the exemplars.
func TestIDs(t *testing.T) {
	bubble(t, func(l *lab) {
		l.accept(first)
		l.begin("s1", first, web)
		at := revisionAt("home", first)
		if traceID, spanID := l.IDs(revisionName(first), ""); traceID != at.trace.String() || spanID != at.span.String() {
			t.Errorf("got %s and %s, want the root of the revision", traceID, spanID)
		}
		if traceID, spanID := l.IDs(revisionName(first), "s1"); traceID != at.trace.String() || spanID != stepAt(at, "s1").span.String() {
			t.Errorf("got %s and %s, want the span of the step", traceID, spanID)
		}
		if traceID, _ := l.IDs(revisionName(first), "s0"); traceID != "" {
			t.Errorf("got %s for a step that is unknown, want none", traceID)
		}
	})
}
