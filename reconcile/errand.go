package reconcile

import (
	"sync"
	"time"

	"gitops-agent/reconcile/report"
)

// errands are calls of the engine to the cluster, other than readings of guests. They run beside the engine, which goes on with what it knows, and their
// results are processed in its goroutine.
type errands struct {
	mu    sync.Mutex
	ended []func()
	bell  chan struct{}
	calls sync.WaitGroup

	inline bool                           // the engine waits for each errand: run --once
	began  map[report.Component]time.Time // of those without a result; belongs to the engine
}

func newErrands() errands {
	return errands{bell: make(chan struct{}, 1), began: make(map[report.Component]time.Time)}
}

// run starts an errand, unless one of the same component has no result yet. Call runs beside the engine, and returns what the engine does with the result.
func (s *errands) run(component report.Component, call func() func()) {
	if s.isUnderWay(component) {
		return
	}
	if s.inline {
		call()()
		return
	}
	s.began[component] = time.Now()
	s.calls.Go(func() {
		process := call()
		s.mu.Lock()
		s.ended = append(s.ended, func() {
			delete(s.began, component)
			process()
		})
		s.mu.Unlock()
		select {
		case s.bell <- struct{}{}:
		default:
		}
	})
}

func (s *errands) isUnderWay(component report.Component) bool {
	_, underWay := s.began[component]
	return underWay
}

// finish processes the results that have arrived.
func (s *errands) finish() {
	s.mu.Lock()
	ended := s.ended
	s.ended = nil
	s.mu.Unlock()
	for _, process := range ended {
		process()
	}
}
