package pvesim

import (
	"fmt"
	"net/http"
	"regexp"
	"time"
)

// FaultKind names what goes wrong.
type FaultKind string

// The kinds of faults. A status of the proxy (595 connect, 596 timeout, 599 other) has an empty body; AfterActing decides whether the
// call acts. A container's config call may also store the change and then answer 500: an ErrorText with AfterActing.
const (
	Latency       FaultKind = "latency"         // the call takes Delay longer
	ProxyStatus   FaultKind = "proxy-status"    // Status with an empty body
	ErrorText     FaultKind = "error-text"      // 500 with Text
	DropBefore    FaultKind = "drop-before"     // the connection ends before the call acts
	DropAfter     FaultKind = "drop-after"      // the connection ends after the call acted
	HoldBefore    FaultKind = "hold-before"     // the call waits for Release before it acts
	HoldAfter     FaultKind = "hold-after"      // the call acts and waits for Release before it replies
	TruncatedBody FaultKind = "truncated-body"  // half the body, then the connection ends
	InvalidJSON   FaultKind = "invalid-json"    // 200 with a body that is not JSON
	Page          FaultKind = "page"            // 200 with a page of HTML, as of a proxy in front of the node; the call does not act
	Unauthorized  FaultKind = "unauthorized"    // 401 without a body, as of a node that lost the users' file; the call does not act
	TaskFails     FaultKind = "task-fails"      // the task fails with Text at Phase
	TaskKilled    FaultKind = "task-killed"     // the worker is killed at Phase: exit status "unexpected status", no cleanup
	TaskNeverEnds FaultKind = "task-never-ends" // the task stays at Phase until aborted
	LostWorker    FaultKind = "lost-worker"     // 500 "got no worker upid"; a create leaves a config with lock=create
	EditBefore    FaultKind = "edit-before"     // another actor sets Key to Value just before the call acts
	CommentBefore FaultKind = "comment-before"  // another client sets the comment of the pool Key to Value just before the call acts; the pool is made if there is none
	SlowCall      FaultKind = "slow-call"       // the node needs Delay for the call, which occupies one of its workers
	FailMidway    FaultKind = "fail-midway"     // a config write fails with Text after it has written Phase keys in random order
	ListRace      FaultKind = "list-race"       // for Delay after the destroy that the call starts, the list of VMs still reads the guest's file and answers 500
	StaysDown     FaultKind = "stays-down"      // the reboot task ends with OK, and the task that starts the VM again fails with Text; without Text there is no start task
)

// Fault describes what goes wrong in which calls. Zero fields match every call.
type Fault struct {
	Method string
	Writes bool    // only calls with a method other than GET
	Path   string  // regular expression on the path below /api2/json
	Host   string  // host:port that the call was sent to, one of several endpoints
	VMID   int     // in the path, or in the parameter vmid or newid
	Nth    int     // the first matching call that is affected, counting from 1; default 1
	Times  int     // the number of calls that are affected; default 1, negative means all
	Chance float64 // probability that a matching call is affected, drawn from the seed; default 1

	Kind        FaultKind
	Delay       time.Duration
	Status      int
	Text        string
	Phase       int // phase of the task, counting from 0; a backup has the phase BeforeBegin; FailMidway: number of keys written
	Key, Value  string
	AfterActing bool // ProxyStatus, ErrorText: the call acts although the client receives a failure
}

type fault struct {
	Fault
	path    *regexp.Regexp
	matched int // calls that matched so far
	applied int // calls that were affected so far
}

// Inject adds a fault. Only the first fault that matches a call applies to it. Inject returns an error for an unknown kind and for a
// Path that does not compile.
func (s *Sim) Inject(f Fault) error {
	re, err := regexp.Compile(f.Path)
	if err != nil {
		return fmt.Errorf("compile fault path %q: %w", f.Path, err)
	}
	if !isKnownFault(f.Kind) {
		return fmt.Errorf("inject fault: kind %q is unknown", f.Kind)
	}
	if f.Nth == 0 {
		f.Nth = 1
	}
	if f.Times == 0 {
		f.Times = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{Fault: f, path: re})
	return nil
}

func isKnownFault(k FaultKind) bool {
	switch k {
	case Latency, ProxyStatus, ErrorText, DropBefore, DropAfter, HoldBefore, HoldAfter, TruncatedBody, InvalidJSON, Page, Unauthorized, TaskFails,
		TaskKilled, TaskNeverEnds, LostWorker, EditBefore, CommentBefore, SlowCall, FailMidway, ListRace, StaysDown:
		return true
	}
	return false
}

// ClearFaults removes all faults. Held calls stay held until Release.
func (s *Sim) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

func (f *fault) matches(c *call) bool {
	if f.Method != "" && f.Method != c.method || f.Writes && c.method == http.MethodGet || f.Host != "" && f.Host != c.host || !f.path.MatchString(c.path) {
		return false
	}
	id := itoa(f.VMID)
	return f.VMID == 0 || c.vars["vmid"] == id || c.params["vmid"] == id || c.params["newid"] == id
}

// matchFault returns the fault that affects a call, or nil.
func (s *Sim) matchFault(c *call) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if !f.matches(c) {
			continue
		}
		f.matched++
		if f.matched < f.Nth || f.Times > 0 && f.applied >= f.Times || f.Chance > 0 && s.rng.Float64() >= f.Chance {
			continue
		}
		f.applied++
		return &f.Fault
	}
	return nil
}

// before applies the effect of a fault before the call. done reports that the call does not act.
func (s *Sim) before(f *Fault, c *call) (resp response, done bool) {
	if f == nil {
		return response{}, false
	}
	rebooted := s.sinceBoot(c)
	switch f.Kind {
	case Latency:
		return response{drop: true}, !s.wait(f.Delay) || rebooted()
	case ProxyStatus:
		return proxyStatus(f.Status), !f.AfterActing
	case ErrorText:
		return s.failure(apiErrorf("%s", f.Text)), !f.AfterActing
	case DropBefore:
		return response{drop: true}, true
	case Page:
		return response{status: http.StatusOK, reason: "OK", body: []byte("<!DOCTYPE html><html><body>It works!</body></html>")}, true
	case Unauthorized:
		return s.failure(&apiError{status: http.StatusUnauthorized, message: "No ticket", noBody: true}), true
	case HoldBefore:
		return response{drop: true}, !s.holdCall(c, f.Kind) || rebooted()
	case EditBefore:
		vmid := f.VMID
		if vmid == 0 {
			vmid = c.vmid()
		}
		_ = s.Edit(vmid, f.Key, f.Value) // a missing guest needs no edit
	case CommentBefore:
		s.SetPoolComment(f.Key, f.Value)
	case TaskFails, TaskKilled, TaskNeverEnds, LostWorker, SlowCall, FailMidway, ListRace, StaysDown:
		c.fault = f
	case DropAfter, HoldAfter, TruncatedBody, InvalidJSON:
	}
	return response{}, false
}

// after applies the effect of a fault to the reply of a call that acted.
func (s *Sim) after(f *Fault, c *call, resp response) response {
	if f == nil {
		return resp
	}
	switch f.Kind {
	case ProxyStatus:
		return proxyStatus(f.Status)
	case ErrorText:
		return s.failure(apiErrorf("%s", f.Text))
	case DropAfter:
		resp.drop = true
	case HoldAfter:
		resp.drop = !s.holdCall(c, f.Kind)
	case TruncatedBody:
		resp.truncated = true
	case InvalidJSON:
		resp = response{status: http.StatusOK, reason: "OK", body: []byte(`{"data":<html>`)}
	case Latency, DropBefore, HoldBefore, Page, Unauthorized, EditBefore, CommentBefore, TaskFails, TaskKilled, TaskNeverEnds, LostWorker, SlowCall, FailMidway, ListRace, StaysDown:
	}
	return resp
}

func proxyStatus(status int) response {
	text := map[int]string{595: "Connection refused", 596: "Connection timed out", 597: "Broken pipe", 599: "Too many redirections"}[status]
	return response{status: status, reason: text}
}
