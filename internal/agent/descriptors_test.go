package agent

import (
	"math"
	"testing"
)

func TestConnectionsLeaveDescriptorsForTheAgent(t *testing.T) {
	t.Parallel()
	for descriptors, want := range map[uint64]int{0: 8, 64: 8, 80: 8, 128: 32, 256: 96, 1024: 256, 524288: 256, math.MaxUint64: 256} {
		if got := connectionsWithin(descriptors); got != want {
			t.Errorf("%d descriptors: got %d connections, want %d", descriptors, got, want)
		}
	}
}
