package pvesim

import "time"

// latency is what the call takes apart from what it waits for.
func (s *Sim) latency(c *call) time.Duration {
	if c.route != nil {
		if d, ok := s.opts.Latencies[c.route.label]; ok {
			return d
		}
	}
	return s.opts.Latency
}

// RecordedLatencies are for Options.Latencies: what reads took on a node with 200 VMs and 100 containers, client and server on the same
// two cores, in the median.
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
