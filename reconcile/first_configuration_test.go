package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/report"
)

// firstFields are fields of a clone that differ from its template, each of which takes a call of its own, or a part of one. The manifest ignores all of them.
var firstFields = []string{
	"description: serves the web", "cpu: {cores: 4}", "memory: {size: 2Gi}", "disks: {scsi0: {size: 20Gi, storage: local-lvm}}", "networks: {net0: {bridge: vmbr0, firewall: true}}",
	"cloudInit: {storage: local, user: ops}", "ha: {state: started, maxRestart: 3}",
	"ignoreFields: [description, cpu.cores, memory.size, disks.scsi0, networks.net0, cloudInit, ha]",
}

// wantFirstConfiguration checks that guest 201 has all firstFields, and that they are left alone from then on.
func (l *lab) wantFirstConfiguration() {
	l.Helper()
	config := l.sim.Config(201)
	for _, want := range []string{"#serves the web\n", "cores: 4", "memory: 2048", "scsi0: local-lvm:", "size=20G", "firewall=1", "ciuser: ops", "cloudinit"} {
		if !strings.Contains(config, want) {
			l.Errorf("got config %q, want %q in it", config, want)
		}
	}
	eventually(l, "the HA manager to start it", func() bool { return l.sim.Running(201) })
	if owned := l.journal.State().Owned[201]; owned.Configuring || owned.Claiming {
		l.Errorf("got the record %+v, want the guest configured", owned)
	}
	for key, value := range map[string]string{"description": "by hand", "ciuser": "root", "onboot": "1"} {
		l.ok(l.sim.Edit(201, key, value))
	}
	before := l.sim.Config(201)
	time.Sleep(30 * time.Minute)
	if got := l.sim.Config(201); got != before {
		l.Errorf("got config %q after an edit by hand, want it left alone: %q", got, before)
	}
}

// TestCrashInTheFirstConfiguration crashes the agent around each call that makes a clone what its manifest first wants, and starts it again on the same state. All
// fields are written, also those of ignoreFields, each effect once, and no later edit of one is undone.
func TestCrashInTheFirstConfiguration(t *testing.T) {
	t.Parallel()
	effects := map[cluster.Op]pvesim.Op{
		cluster.OpCreate: pvesim.Cloned, cluster.OpMigrate: pvesim.Migrated, cluster.OpConfig: pvesim.ConfigWritten, cluster.OpResize: pvesim.Resized, cluster.OpMove: pvesim.Moved, cluster.OpHAAdd: "",
	}
	for op, effect := range effects {
		for _, at := range []string{"before-call", "after-call", "waiting"} {
			if op == cluster.OpHAAdd && at == "waiting" {
				continue // it has no task
			}
			t.Run(string(op)+"/"+at, func(t *testing.T) {
				runLabWithTwoNodes(t, func(t *testing.T, l *lab) {
					l.grant("Sys.Console")
					l.crashAndRecover(op, at, func(l *lab) {
						l.files["web.yaml"] = strings.Replace(vmYAML("web-1", 201, firstFields...), "node: pve1", "node: pve2", 1)
						l.push("a clone", alice)
					})
					if effect != "" {
						want := 1
						if op == cluster.OpConfig {
							want = 2 // its identity, and the rest after the move
						}
						if got := l.sim.Effects(201, effect); got != want {
							t.Errorf("got %d times %s, want %d; counters %v", got, effect, want, l.sim.Counters().Effects)
						}
					}
					stop := l.start()
					l.converge()
					l.wantFirstConfiguration()
					stop()
				})
			})
		}
	}
}

// TestFirstConfigurationOfOtherSources makes guests whose manifests ignore what no call that creates a guest carries: the size of an imported disk, and every field over
// what a backup has.
func TestFirstConfigurationOfOtherSources(t *testing.T) {
	t.Parallel()
	vm := func(source string, lines ...string) string {
		return strings.Replace(vmYAML("web-1", 201, lines...), "source: {clone: {name: tmpl-debian-12}}", "source: "+source, 1)
	}
	tests := map[string]struct{ manifest, key, want string }{
		"image": {
			vm(`{image: {from: "local:import/debian-12-genericcloud-amd64.qcow2"}}`, "disks: {scsi0: {storage: local-lvm, size: 20Gi}}", "ignoreFields: [disks.scsi0]"), "scsi0", "size=20G",
		},
		"backup": {vm(`{backup: {volume: "ARCHIVE", storage: local}}`, "memory: {size: 3Gi}", "ignoreFields: [memory.size]"), "memory", "3072"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = strings.Replace(test.manifest, "ARCHIVE", l.makeBackup(150), 1)
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				if got := l.sim.Value(201, test.key); !strings.Contains(got, test.want) {
					t.Errorf("got %s: %s, want %s in it", test.key, got, test.want)
				}
				if l.journal.State().Owned[201].Configuring {
					t.Error("got it recorded as not configured, want it configured")
				}
			})
		})
	}
}

// TestFirstConfigurationOfAClone makes a clone without a crash, full and linked, and one whose manifest lists fields under ignoreFields later than it was made.
func TestFirstConfigurationOfAClone(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{"full": "{name: tmpl-debian-12}", "linked": "{name: tmpl-debian-12, full: false}"} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.grant("Sys.Console")
				l.files["web.yaml"] = strings.Replace(vmYAML("web-1", 201, firstFields...), "{name: tmpl-debian-12}", source, 1)
				l.push("a clone", alice)
				defer l.start()()
				l.converge()
				l.wantFirstConfiguration()
			})
		})
	}
	t.Run("edited_again_and_again", func(t *testing.T) {
		runLab(t, nil, func(t *testing.T, l *lab) {
			l.files["web.yaml"] = vmYAML("web-1", 201, "cpu: {cores: 4}", "memory: {size: 2Gi}", "ignoreFields: [cpu.cores]")
			l.push("a clone", alice)
			l.opts.Hooks.OnEvent = onOutcome(func(s report.StepOutcome) {
				l.onStep(s)
				if s.Step.Op == cluster.OpConfig {
					l.ok(l.sim.Edit(201, "cores", "2"))
				}
			})
			defer l.start()()
			l.converge()
			if cores, memory := l.sim.Value(201, "cores"), l.sim.Value(201, "memory"); cores != "2" || memory != "2048" {
				t.Errorf("got %s cores and a memory of %s, want the edit of the ignored field to stay, and the other field written", cores, memory)
			}
			if owned := l.journal.State().Owned[201]; owned.Configuring {
				t.Errorf("got the record %+v, want the guest configured", owned)
			}
		})
	})
	t.Run("ignored_later", func(t *testing.T) {
		runLab(t, nil, func(t *testing.T, l *lab) {
			l.files["web.yaml"] = vmYAML("web-1", 201, "cpu: {cores: 4}")
			l.push("a clone", alice)
			defer l.start()()
			l.converge()
			l.files["web.yaml"] = vmYAML("web-1", 201, "cpu: {cores: 8}", "ignoreFields: [cpu.cores]")
			l.push("ignore the cores", alice)
			l.converge()
			time.Sleep(30 * time.Minute)
			if got := l.sim.Value(201, "cores"); got != "4" {
				t.Errorf("got %s cores, want those of the guest: 4", got)
			}
		})
	})
}
