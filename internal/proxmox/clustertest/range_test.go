package clustertest

import (
	"context"
	"errors"
	"testing"

	"gitops-agent/reconcile/cluster"
)

// occupied is a cluster of which only one thing is known: which vmids are taken.
type occupied struct {
	cluster.Cluster
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
		"empty":       {occupied{taken: 8999}, 9000, 9029, true},
		"first_taken": {occupied{taken: 9000}, 9000, 9029, false},
		"last_taken":  {occupied{taken: 9099}, 9000, 9099, false},
		"unknown":     {occupied{err: errors.New("no answer")}, 9000, 9029, false},
		"too_small":   {occupied{}, 9000, 9028, false},
		"backwards":   {occupied{}, 9029, 9000, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			target := Target{Cluster: test.cluster, Nodes: []string{"pve1"}, First: test.first, Last: test.last}
			if err := target.check(t.Context()); (err == nil) != test.ok {
				t.Errorf("got error %v, want the range accepted: %v", err, test.ok)
			}
		})
	}
}

// Nothing can be made where no node is online.
func TestCheckWantsANode(t *testing.T) {
	target := Target{Cluster: occupied{}, First: 9000, Last: 9099}
	if err := target.check(t.Context()); err == nil {
		t.Error("got no error without a node, want one")
	}
}
