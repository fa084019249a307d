package pvesim

import "time"

// waitLatency waits for the latency of the call and returns false if the Sim is closed first. The latency of a route in Options.Latencies
// is work, which occupies a front worker of the node. Options.Latency is time on the network and occupies no worker.
func (s *Sim) waitLatency(c *call) bool {
	if c.route == nil {
		return s.wait(s.opts.Latency)
	}
	d, isWork := s.opts.Latencies[c.route.label]
	if !isWork {
		return s.wait(s.opts.Latency)
	}
	if s.opts.Workers > 0 {
		front := s.workersOf(c.node()).front
		if !front.acquire(s.closed) {
			return false
		}
		defer front.release()
	}
	return s.wait(d)
}

// RecordedLatencies returns a value for Options.Latencies: the median duration of reads on a node with 200 VMs and 100 containers, with
// client and server on the same two cores.
func RecordedLatencies() map[string]time.Duration {
	const ms = time.Millisecond
	return map[string]time.Duration{
		"GET /version": 900 * time.Microsecond, "GET /cluster/nextid": 900 * time.Microsecond, "GET /cluster/tasks": ms,
		"GET /cluster/resources": 6500 * time.Microsecond, "GET /nodes/{node}/qemu": 19 * ms, "GET /nodes/{node}/lxc": 19 * ms,
		"GET /nodes/{node}/tasks":   7 * ms,
		"GET " + vmPath + "/config": 1100 * time.Microsecond, "GET " + vmPath + "/pending": 1100 * time.Microsecond,
		"GET " + ctPath + "/config": 1100 * time.Microsecond, "GET " + ctPath + "/pending": 1100 * time.Microsecond,
	}
}
