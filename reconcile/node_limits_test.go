package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/reason"
)

// TestNodeThatIsTooSmall wants machines with more memory, or more processors, than their node has: one that does not exist, and one that does and is stopped. Their starts are
// held with the figures, and are made when the manifest says less.
func TestNodeThatIsTooSmall(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		exists             bool
		fits, exceeds, why string
	}{
		"new_memory":         {false, "memory: {size: 1Gi}", "memory: {size: 4Ti}", "MiB of memory, since it gets 4194304 MiB"},
		"present_memory":     {true, "memory: {size: 1Gi}", "memory: {size: 4Ti}", "MiB of memory, since it gets 4194304 MiB"},
		"new_processors":     {false, "cpu: {cores: 32, sockets: 2}", "cpu: {cores: 32, sockets: 3}", "64 processors, since it gets 96"},
		"present_processors": {true, "cpu: {cores: 64}", "cpu: {cores: 65}", "64 processors, since it gets 65"},
	} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				vm := func(size, state string) string { return vmYAML("web-1", 201, size, "state: "+state) }
				if test.exists {
					l.files["web.yaml"] = vm(test.fits, "stopped")
					l.push("one guest", alice)
					stop := l.start()
					l.converge()
					stop()
				}
				l.files["web.yaml"] = vm(test.exceeds, "running")
				l.push("more than there is", alice)
				defer l.start()()
				eventually(l, "the hold", func() bool {
					for _, g := range l.engine.Report().Guests {
						for _, h := range g.Held {
							if h.Reason == reason.Impossible && strings.Contains(h.Message, test.why) {
								return true
							}
						}
					}
					return false
				})
				time.Sleep(10 * time.Minute)
				if got := l.sim.Effects(201, pvesim.Started); got != 0 {
					t.Errorf("got %d starts, want none", got)
				}
				l.files["web.yaml"] = vm(test.fits, "running")
				l.push("less", alice)
				l.converge()
				if !l.sim.Running(201) {
					t.Error("got the machine stopped, want it to run")
				}
			})
		})
	}
}

// TestRestartOnANodeThatIsTooSmall gives a machine that runs, and restarts by itself, more processors than its node has. It goes on running, since it would not start again, and is
// restarted once the manifest says less. An order to restart it is held as well.
func TestRestartOnANodeThatIsTooSmall(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]string{"policy": "auto", "order": "never"} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.trustOtto()
				vm := func(size string) string {
					return vmYAML("web-1", 201, size, "state: running", "lifecycle: {rebootPolicy: "+by+"}")
				}
				l.files["web.yaml"] = vm("cpu: {cores: 2}")
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				starts := l.sim.Effects(201, pvesim.Started)
				l.files["web.yaml"] = vm("cpu: {cores: 65}")
				l.waitForAcceptance(l.push("more than there is", alice))
				if by == "never" {
					eventually(l, "the write", func() bool { return strings.Contains(l.sim.Config(201), "cores: 65") })
					l.order("reboot VirtualMachine/web-1")
				}
				eventually(l, "the hold", func() bool {
					for _, c := range l.saysOf("VirtualMachine/web-1")() {
						if c.Reason == reason.Impossible && strings.Contains(c.Message, "64 processors, since it gets 65") {
							return true
						}
					}
					return false
				})
				time.Sleep(10 * time.Minute)
				if !l.sim.Running(201) || l.sim.Effects(201, pvesim.Started) != starts {
					t.Fatalf("got running %t after %d starts, want it left running", l.sim.Running(201), l.sim.Effects(201, pvesim.Started)-starts)
				}
				l.files["web.yaml"] = vm("cpu: {cores: 4}")
				l.waitForAcceptance(l.push("less", alice))
				eventually(l, "the restart", func() bool { return l.sim.Effects(201, pvesim.Started) == starts+1 && l.sim.Running(201) })
				l.converge()
			})
		})
	}
}
