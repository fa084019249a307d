package pvesim

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestProxyTimeoutWhileCallContinues(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		inject(t, c.sim, Fault{Kind: SlowCall, Method: http.MethodPut, Delay: 45 * time.Second})
		begun := time.Now()
		got := c.call("PUT", vm100+"/config", "cores=2")
		checkReply(t, "slow write", got, 596, "Connection timed out")
		if got.body != "" || time.Since(begun) != 30*time.Second {
			t.Errorf("slow write: got body %q after %s, want none after 30s", got.body, time.Since(begun))
		}
		if n := c.sim.Effects(100, ConfigWritten); n != 0 {
			t.Errorf("writes when the proxy gave up: got %d, want 0", n)
		}
		time.Sleep(16 * time.Second)
		if n := c.sim.Effects(100, ConfigWritten); n != 1 {
			t.Errorf("writes afterwards: got %d, want 1", n)
		}
	})
}

func TestThreeWorkersANode(t *testing.T) {
	bubble(t, Options{Nodes: []string{"pve1", "pve2"}}, func(t *testing.T, c *client) {
		for id := 100; id < 105; id++ {
			addVM(t, c.sim, id, "")
		}
		if _, err := c.sim.AddVM(Guest{VMID: 200, Node: "pve2"}); err != nil {
			t.Fatal(err)
		}
		inject(t, c.sim, Fault{Kind: SlowCall, Method: http.MethodPut, Path: "^/nodes/pve1/", Times: 4, Delay: 5 * time.Second})
		begun := time.Now()
		ended := make(chan time.Duration, 4)
		for id := 100; id < 104; id++ {
			go func() {
				c.ok("PUT", "/nodes/pve1/qemu/"+itoa(id)+"/config", "cores=2")
				ended <- time.Since(begun)
			}()
		}
		synctest.Wait()
		c.ok("GET", vm100+"/config") // the proxy reads files itself
		c.ok("PUT", "/nodes/pve2/qemu/200/config", "cores=2")
		if d := time.Since(begun); d != 0 {
			t.Errorf("read and write to another node: got %s, want no waiting", d)
		}
		c.ok("GET", vm100+"/status/current") // inspects a process, which requires a worker
		if d := time.Since(begun); d != 5*time.Second {
			t.Errorf("status while all workers are busy: got %s, want 5s", d)
		}
		for i, want := range []time.Duration{5 * time.Second, 5 * time.Second, 5 * time.Second, 10 * time.Second} {
			if d := <-ended; d != want {
				t.Errorf("write %d: got %s, want %s", i+1, d, want)
			}
		}
	})
}

// A read with a latency of its own occupies one of the three processes that accept calls. Time on the network occupies none.
func TestThreeFrontWorkersANode(t *testing.T) {
	tests := map[string]struct {
		opts Options
		want time.Duration // for the last of seven reads
	}{
		"work":          {Options{Latencies: map[string]time.Duration{"GET " + vmPath + "/pending": time.Second}}, 3 * time.Second},
		"distance":      {Options{Latency: time.Second}, time.Second},
		"without_limit": {Options{Workers: -1, Latencies: map[string]time.Duration{"GET " + vmPath + "/pending": time.Second}}, time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, tt.opts, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "")
				begun := time.Now()
				var reads sync.WaitGroup
				for range 7 {
					reads.Go(func() { c.ok("GET", vm100+"/pending") })
				}
				reads.Wait()
				if got := time.Since(begun); got != tt.want {
					t.Errorf("time of seven reads at once: got %s, want %s", got, tt.want)
				}
			})
		})
	}
}

func TestWorkersWithoutLimit(t *testing.T) {
	bubble(t, Options{Workers: -1, ProxyTimeout: -1}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		inject(t, c.sim, Fault{Kind: SlowCall, Method: http.MethodPost, Times: -1, Delay: time.Minute})
		begun := time.Now()
		ended := make(chan time.Duration, 5)
		for range 5 {
			go func() {
				c.ok("POST", vm100+"/config", "onboot=1")
				ended <- time.Since(begun)
			}()
		}
		for range 5 {
			if d := <-ended; d != time.Minute {
				t.Errorf("call: got %s, want all five after a minute", d)
			}
		}
	})
}
