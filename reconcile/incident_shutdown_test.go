package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
)

// TestIncidentWritesAfterShutdown stops the agent while sixteen lanes wait for a node that answers two calls at a time, each after 34 seconds. No call
// is sent after the stop, the agent ends within its limit, and the next start settles what was in flight without a repetition.
func TestIncidentWritesAfterShutdown(t *testing.T) {
	runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
		const guests = 16
		l.opts.Parallel = guests
		l.opts.Limits.PerNode = guests
		put := func(memory int) {
			for i := range guests {
				l.files[fmt.Sprintf("vm-%d.yaml", i)] = vmYAML(fmt.Sprintf("vm-%d", i), 201+i, fmt.Sprintf("memory: {size: %dGi}", memory))
			}
			l.push(fmt.Sprintf("%d GiB", memory), alice)
		}
		put(1)
		stop := l.start()
		l.converge()
		writes := make(map[int]int)
		for i := range guests {
			writes[i] = l.sim.Effects(201+i, pvesim.ConfigWritten)
		}
		l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.Latency, Method: "POST", Path: "/config$", Delay: 34 * time.Second, Times: -1}))
		w.reset()
		put(2)
		eventually(t, "the first calls", func() bool { return len(w.writes("/config")) == 2 })
		time.Sleep(time.Second)
		began := time.Now()
		stop()
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("the agent took %s to end, want at most 30s", took)
		}
		if got := len(w.writes("/config")); got != 2 {
			t.Errorf("got %d calls, want none after the 2 before the stop", got)
		}
		l.sim.ClearFaults()
		time.Sleep(time.Minute)
		defer l.start()()
		l.converge()
		for i := range guests {
			if got := l.sim.Effects(201+i, pvesim.ConfigWritten) - writes[i]; got != 1 {
				t.Errorf("vm-%d: got %d writes, want 1", i, got)
			}
		}
	})
}
