package clustertest

import (
	"context"
	"errors"
	"testing"

	"gitops-agent/reconcile"
)

// occupied is a cluster of which only one thing is known: which vmids are taken.
type occupied struct {
	reconcile.Cluster
	taken int
	err   error
}

func (o occupied) Exists(_ context.Context, vmid int) (bool, error) { return vmid == o.taken, o.err }

// The suite destroys guests, so it must not begin where somebody else's may be.
func TestCheckRefusesARangeThatIsNotEmpty(t *testing.T) {
	tests := map[string]struct {
		cluster     occupied
		first, last int
		ok          bool
	}{
		"empty":       {occupied{taken: 8999}, 9000, 9003, true},
		"first_taken": {occupied{taken: 9000}, 9000, 9003, false},
		"last_taken":  {occupied{taken: 9099}, 9000, 9099, false},
		"unknown":     {occupied{err: errors.New("no answer")}, 9000, 9003, false},
		"too_small":   {occupied{}, 9000, 9002, false},
		"backwards":   {occupied{}, 9003, 9000, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			target := Target{Cluster: test.cluster, First: test.first, Last: test.last}
			if err := target.check(t.Context()); (err == nil) != test.ok {
				t.Errorf("got error %v, want the range accepted: %v", err, test.ok)
			}
		})
	}
}
