package reconcile_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/plan"
)

// TestRefusedCallLeavesNothingBehind lets Proxmox refuse an approved, interrupting change half-way, also with a crash of the agent before it knows: the half that Proxmox
// staged is taken back, so that no later call brings it into effect.
func TestRefusedCallLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	web := func(bridge string, more ...string) string {
		return vmYAML("web-1", 201, append(more, "networks: {net0: {bridge: "+bridge+"}, net1: {bridge: "+bridge+"}}", "state: running")...)
	}
	for name, at := range map[string]string{"refused": "", "crash_after_the_call": "after-call", "crash_while_waiting": "waiting"} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = web("vmbr0")
				l.push("a guest", alice)
				stop := l.start()
				defer func() { stop() }()
				l.converge()
				l.files["web.yaml"] = web("vmbr1")
				l.push("another network", alice)
				digest := l.digestOfHold(201)
				l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/qemu/201/config$", Kind: pvesim.FailMidway, Phase: 1, Text: "unable to open file: Input/output error", Times: -1}))
				if at != "" {
					stop()
					d := &crashingCluster{Cluster: l.cluster, op: cluster.OpConfig, at: at}
					l.opts.Cluster = d
					stop = l.start()
					l.approve(digest)
					eventually(l, "the crash", d.crashed.Load)
					stop()
					l.opts.Cluster = l.cluster
					stop = l.start()
				} else {
					l.approve(digest)
				}
				eventually(l, "the end of the step", func() bool {
					return l.sim.Value(201, "net0") != "" && len(l.journal.State().Open) == 0 && len(l.engine.Report().Guests) > 0
				})
				eventually(l, "nothing left behind", func() bool { return !strings.Contains(l.sim.Config(201), "[PENDING]") })
				if at == "" {
					eventually(l, "the failure", func() bool { return hasCondition(l.guest(l.engine.Report(), 201), plan.Failed, "config") })
				}
				l.sim.ClearFaults()
				l.files["web.yaml"] = web("vmbr0", "description: harmless")
				l.waitForAcceptance(l.push("back, and a harmless change", alice))
				eventually(l, "the harmless change", func() bool { return l.sim.Value(201, "description") == "harmless" })
				l.converge()
				for _, key := range []string{"net0", "net1"} {
					if got := l.sim.Value(201, key); !strings.Contains(got, "bridge=vmbr0") {
						t.Errorf("got %s %q, want it on vmbr0", key, got)
					}
				}
			})
		})
	}
}

// TestPendingChangeOfAPersonStays lets Proxmox refuse a change for the next start half-way, and a person change one of its keys before the agent takes the half back: what
// the agent wrote is dropped, and what the person wrote is not.
func TestPendingChangeOfAPersonStays(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		web := func(n string) string {
			return vmYAML("web-1", 201, "cpu: {cores: "+n+", sockets: "+n+"}", "memory: {size: "+n+"Gi}", "state: running")
		}
		l.files["web.yaml"] = web("1")
		l.push("a guest", alice)
		stop := l.start()
		defer func() { stop() }()
		l.converge()
		stop()
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/qemu/201/config$", Kind: pvesim.FailMidway, Phase: 2, Text: "unable to open file: Input/output error"}))
		d := &crashingCluster{Cluster: l.cluster, op: cluster.OpConfig, at: "after-call"}
		l.opts.Cluster = d
		l.files["web.yaml"] = web("2")
		l.push("more of all", alice)
		stop = l.start()
		eventually(l, "the crash", d.crashed.Load)
		stop()
		l.ok(l.sim.EditFile(201, func(text string) string {
			return strings.Replace(strings.Replace(text, "\ncores: 2\n", "\n", 1), "[PENDING]\n", "[PENDING]\ncores: 4\n", 1)
		}))
		left := ""
		l.opts.Cluster = afterRevert{l.cluster, new(atomic.Bool), func() {
			if left == "" {
				left = l.sim.Config(201)
			}
		}}
		stop = l.start()
		eventually(l, "what is taken back", func() bool { return left != "" })
		if _, pending, _ := strings.Cut(left, "[PENDING]"); strings.TrimSpace(pending) != "cores: 4" {
			t.Errorf("got pending\n%s\nwant what the person wrote, and nothing of the refused change", pending)
		}
	})
}

// afterRevert runs a function when the first call that drops pending values has ended.
type afterRevert struct {
	cluster.Cluster
	reverts *atomic.Bool
	then    func()
}

func (a afterRevert) Do(ctx context.Context, call cluster.Call, check cluster.LastCheck) (string, error) {
	upid, err := a.Cluster.Do(ctx, call, check)
	if a.reverts.Store(call.Params["revert"] != ""); upid == "" && a.reverts.Swap(false) {
		a.then()
	}
	return upid, err
}

func (a afterRevert) Wait(ctx context.Context, upid string) (cluster.Task, error) {
	task, err := a.Cluster.Wait(ctx, upid)
	if a.reverts.Swap(false) {
		a.then()
	}
	return task, err
}

// TestRefusalIsNotForgotten lets Proxmox refuse an approved change of which it has written everything, and the agent crash before it takes that back, or get no lock for
// it: the next process knows that the call was refused, and does not take the whole change for done. Proxmox refuses the change of a container at once, and that of a
// virtual machine in a task.
func TestRefusalIsNotForgotten(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ isContainer, isLocked bool }{
		"machine_crash": {false, false}, "machine_locked": {false, true}, "container_crash": {true, false}, "container_locked": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				file, vmid, path, text := "web.yaml", 201, "/qemu/201/config$", "unable to open file: Input/output error"
				manifest := func(bridge string) string {
					return vmYAML("web-1", 201, "networks: {net0: {bridge: "+bridge+"}}", "state: running")
				}
				if test.isContainer {
					file, vmid, path, text = "dns.yaml", 210, "/lxc/210/config$", "cfs-lock 'storage-tank' error: got lock request timeout"
					manifest = func(bridge string) string {
						return dnsYAML("networks: {net0: {name: eth0, bridge: "+bridge+"}}", "state: running")
					}
				}
				l.files[file] = manifest("vmbr0")
				l.push("a guest", alice)
				stop := l.start()
				defer func() { stop() }()
				l.converge()
				l.files[file] = manifest("vmbr1")
				l.push("another network", alice)
				digest := l.digestOfHold(vmid)
				l.ok(l.sim.Inject(pvesim.Fault{Path: path, Writes: true, Kind: pvesim.FailMidway, Phase: 1, Text: text}))
				stop()
				d := &crashingCluster{Cluster: l.cluster, op: cluster.OpConfig, at: "before-call"}
				d.spared.Store(1)
				if test.isLocked {
					l.ok(l.sim.Inject(pvesim.Fault{Path: path, Writes: true, Kind: pvesim.ErrorText, Text: "can't lock file '/run/lock/config.lock' - got timeout", Times: -1}))
					d.spared.Store(10)
				}
				l.opts.Cluster = d
				stop = l.start()
				l.approve(digest)
				eventually(l, "the crash, or the tries", func() bool { return d.crashed.Load() || test.isLocked && d.spared.Load() < 8 })
				stop()
				stop = func() {}
				l.sim.ClearFaults()
				if open := l.journal.State().Open; !strings.Contains(strings.ToLower(l.sim.Config(vmid)), "pending]") || len(open) != 1 || !open[0].Refused {
					t.Fatalf("got %s and the open steps %+v, want the change pending and one step open as refused", l.sim.Config(vmid), open)
				}
				l.files[file] = manifest("vmbr0")
				l.opts.Cluster = l.cluster
				l.push("back", alice)
				stop = l.start()
				eventually(l, "the end of the step", func() bool { return len(l.journal.State().Open) == 0 })
				if strings.Contains(strings.ToLower(l.sim.Config(vmid)), "pending]") {
					t.Errorf("got %s after the step has ended, want nothing left behind", l.sim.Config(vmid))
				}
				l.converge()
				if got := l.sim.Value(vmid, "net0"); !strings.Contains(got, "bridge=vmbr0") {
					t.Errorf("got net0 %q, want it on vmbr0", got)
				}
			})
		})
	}
}

// TestWhatCannotBeTakenBackIsReported refuses the call that takes back, too.
func TestWhatCannotBeTakenBackIsReported(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		web := func(bridge string) string {
			return vmYAML("web-1", 201, "networks: {net0: {bridge: "+bridge+"}, net1: {bridge: "+bridge+"}}", "state: running")
		}
		l.files["web.yaml"] = web("vmbr0")
		l.push("a guest", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = web("vmbr1")
		l.push("another network", alice)
		digest := l.digestOfHold(201)
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/qemu/201/config$", Kind: pvesim.FailMidway, Phase: 1, Text: "Input/output error"}))
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/qemu/201/config$", Kind: pvesim.ErrorText, Text: "not today"}))
		l.approve(digest)
		eventually(l, "the report", func() bool {
			for _, c := range l.guest(l.engine.Report(), 201).Conditions {
				if c.Type == plan.Failed && strings.Contains(c.Message, "left changes behind") && strings.Contains(c.Message, "net") {
					return true
				}
			}
			return false
		})
		time.Sleep(time.Minute)
		l.approve(l.digestOfHold(201)) // the first approval is spent: a part of the step took effect
		l.converge()
	})
}
