package clustertest

import (
	"context"
	"errors"
	"testing"

	"gitops-agent/reconcile/cluster"
)

// existsStub is a cluster that only reports which vmids are taken.
type existsStub struct {
	cluster.Cluster
	taken int
	err   error
}

func (o existsStub) Exists(_ context.Context, vmid int) (bool, error) { return vmid == o.taken, o.err }

// The suite destroys guests, so it must not use a range that may contain other guests.
func TestCheckRejectsRange(t *testing.T) {
	tests := map[string]struct {
		cluster     existsStub
		first, last int
		ok          bool
	}{
		"empty":       {existsStub{taken: 8999}, 9000, 9029, true},
		"first_taken": {existsStub{taken: 9000}, 9000, 9029, false},
		"last_taken":  {existsStub{taken: 9099}, 9000, 9099, false},
		"unknown":     {existsStub{err: errors.New("no answer")}, 9000, 9029, false},
		"too_small":   {existsStub{}, 9000, 9028, false},
		"backwards":   {existsStub{}, 9029, 9000, false},
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

// Without an online node no guest can be created.
func TestCheckRequiresNode(t *testing.T) {
	target := Target{Cluster: existsStub{}, First: 9000, Last: 9099}
	if err := target.check(t.Context()); err == nil {
		t.Error("got no error without a node, want one")
	}
}
