package clustertest

import "testing"

// suite is one run on a target. Its tests run one after the other.
type suite struct {
	Target
	next int // the next unused vmid
}

// vmid returns a vmid that no other test has used. Proxmox's lists lag, so that an earlier guest could be mistaken for a new one.
func (s *suite) vmid(t *testing.T) int {
	t.Helper()
	if s.next > s.Last {
		t.Fatalf("got no vmid left up to %d, want a wider range", s.Last)
	}
	s.next++
	return s.next - 1
}

// lacks ends a test because the cluster lacks something that the test needs.
func (s *suite) lacks(t *testing.T, what string) {
	t.Helper()
	if s.Lacks == nil {
		t.Skipf("the cluster has no %s", what)
	}
	s.Lacks(t, what)
}

func testReady(t *testing.T, s *suite) {
	if err := s.Cluster.Ready(t.Context()); err != nil {
		t.Errorf("got error %v, want a cluster that is ready", err)
	}
}
