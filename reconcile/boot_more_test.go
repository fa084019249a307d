package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/report"
)

// initVM is the manifest of web-1 with lines of its spec and of its cloud-init drive.
func initVM(drive string, lines ...string) string {
	return vmYAML("web-1", 201, append(lines, "cloudInit: {storage: local, user: ops, "+drive+"}")...)
}

// ip returns the address of web-1 in its cloud-init drive.
func ip(last string) string { return "ip: {net0: {v4: 10.0.20." + last + "/24}}" }

// TestMoreOfWhatWaitsForABoot tries what people do around a change that waits. The report agrees with what the system has read, and the agent restarts the machine
// as often as its manifest allows.
func TestMoreOfWhatWaitsForABoot(t *testing.T) {
	t.Parallel()
	never, auto := "lifecycle: {rebootPolicy: never}", "lifecycle: {rebootPolicy: auto}"
	push := func(l *lab, manifest string) {
		l.files["web.yaml"] = manifest
		l.waitForAcceptance(l.push("a change", alice))
	}
	waits := func(l *lab) {
		eventually(l, "the change to wait", func() bool { return l.waiting(201) == waitsForStart+"ipconfig0" })
	}
	change := func(l *lab) {
		push(l, initVM(ip("99"), "state: running", never))
		waits(l)
	}
	tests := map[string]struct {
		then  func(l *lab, again func(meanwhile func()))
		waits string // afterwards
		stops int    // by the agent and by people
		auto  bool   // the agent restarts the machine
	}{
		"while it is stopped, and a person starts it": {func(l *lab, _ func(func())) {
			push(l, initVM(ip("11"), auto))
			l.byPerson("POST", webPath+"/status/stop")
			push(l, initVM(ip("99"), auto))
			eventually(l, "the change", func() bool { return strings.Contains(l.sim.Value(201, "ipconfig0"), ".99") })
			l.byPerson("POST", webPath+"/status/start")
		}, "", 1, true},
		"taken back before the boot": {func(l *lab, _ func(func())) {
			change(l)
			push(l, initVM(ip("11"), "state: running", never))
		}, "", 0, false},
		"by a person, and booted, while the agent is down": {func(l *lab, again func(func())) {
			again(func() {
				l.byPerson("PUT", webPath+"/config", "ipconfig0=ip=10.0.20.66/24")
				time.Sleep(5 * time.Minute)
				l.byPerson("POST", webPath+"/status/reboot")
				time.Sleep(5 * time.Minute)
			})
		}, notKnown + "ipconfig0", 1, false},
		"by a person, and not booted, while the agent is down": {func(l *lab, again func(func())) {
			again(func() {
				l.byPerson("PUT", webPath+"/config", "ipconfig0=ip=10.0.20.66/24")
				time.Sleep(5 * time.Minute)
			})
		}, "", 0, false},
		"wanted, and booted by a person while the agent is down": {func(l *lab, again func(func())) {
			change(l)
			again(func() {
				l.byPerson("POST", webPath+"/status/reboot")
				time.Sleep(5 * time.Minute)
			})
		}, "", 1, false},
		"a restore of an older backup": {func(l *lab, _ func(func())) {
			l.byPerson("POST", "/nodes/pve1/vzdump", "vmid=201", "storage=local", "mode=snapshot", "compress=zstd")
			archive := ""
			for _, v := range l.sim.Volumes() {
				if strings.Contains(v.ID, "vzdump-qemu-201") {
					archive = v.ID
				}
			}
			change(l)
			l.byPerson("POST", webPath+"/status/stop")
			l.byPerson("POST", "/nodes/pve1/qemu", "vmid=201", "archive="+archive, "force=1")
		}, "", 1, false},
		"beside another key for a restart": {func(l *lab, _ func(func())) {
			push(l, initVM(ip("99"), "state: running", auto, "cpu: {cores: 2}"))
		}, "", 1, true},
		"a live migration before a restart by the agent": {func(l *lab, _ func(func())) {
			window := "lifecycle: {rebootPolicy: window, window: daily 01:00-02:00 UTC}"
			push(l, initVM(ip("99"), "state: running", window))
			waits(l)
			l.byPerson("POST", webPath+"/migrate", "target=pve2", "online=1", "with-local-disks=1")
			time.Sleep(time.Hour)
		}, "", 1, true},
		"a cloud-init drive for a machine without one": {func(l *lab, _ func(func())) {
			push(l, vmYAML("web-1", 201, "state: running", auto, "unset: [ide2, ipconfig0, ciuser]"))
			time.Sleep(10 * time.Minute)
			push(l, initVM(ip("99"), "state: running", auto))
		}, "", 2, true},
		"a card and its address": {func(l *lab, _ func(func())) {
			push(l, initVM("ip: {net0: {v4: 10.0.20.11/24}, net1: {v4: 10.0.30.11/24}}", "state: running", never, "networks: {net1: {bridge: vmbr0}}"))
		}, waitsForStart + "ipconfig1, net1", 0, false},
		"another name": {func(l *lab, _ func(func())) {
			l.byPerson("PUT", webPath+"/config", "name=web-x")
		}, "", 0, false},
		"a pause": {func(l *lab, _ func(func())) {
			change(l)
			l.byPerson("POST", webPath+"/status/suspend")
			time.Sleep(2 * time.Minute)
			l.byPerson("POST", webPath+"/status/resume")
		}, waitsForStart + "ipconfig0", 0, false},
		"a rollback without memory that starts it": {func(l *lab, _ func(func())) {
			l.byPerson("POST", webPath+"/snapshot", "snapname=cold")
			change(l)
			l.byPerson("POST", webPath+"/snapshot/cold/rollback", "start=1")
		}, waitsForStart + "ipconfig0", 1, false},
		"a rollback without memory, and the agent starts it": {func(l *lab, _ func(func())) {
			l.byPerson("POST", webPath+"/snapshot", "snapname=cold")
			change(l)
			l.byPerson("POST", webPath+"/snapshot/cold/rollback")
		}, "", 1, false},
		"an order to restart it": {func(l *lab, _ func(func())) {
			change(l)
			l.order("reboot" + web1)
		}, "", 1, false},
		"an offline migration and a start there": {func(l *lab, _ func(func())) {
			push(l, initVM(ip("99"), never))
			waits(l)
			l.byPerson("POST", webPath+"/status/stop")
			l.byPerson("POST", webPath+"/migrate", "target=pve2", "with-local-disks=1")
			l.byPerson("POST", "/nodes/pve2/qemu/201/status/start")
		}, "", 1, false},
		"hibernated, moved and resumed": {func(l *lab, _ func(func())) {
			push(l, initVM(ip("99"), never))
			waits(l)
			l.byPerson("POST", webPath+"/status/suspend", "todisk=1")
			time.Sleep(10 * time.Minute)
			l.byPerson("POST", webPath+"/status/start")
		}, waitsForStart + "ipconfig0", 1, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithTwoNodes(t, func(t *testing.T, l *lab) {
				l.trustOtto()
				policy := never
				if test.auto {
					policy = auto
				}
				l.files["web.yaml"] = initVM(ip("11"), "state: running", policy)
				l.push("one guest", alice)
				stop := l.start()
				defer func() { stop() }()
				l.converge()
				time.Sleep(5 * time.Minute)
				before := l.sim.Effects(201, pvesim.Stopped)
				test.then(l, func(meanwhile func()) {
					stop()
					meanwhile()
					stop = l.start()
				})
				time.Sleep(20 * time.Minute)
				g := l.guest(l.engine.Report(), 201)
				if got := l.waiting(201); got != test.waits {
					t.Errorf("got %q, want %q; %+v", got, test.waits, g.Conditions)
				}
				if want := map[bool]report.Sync{true: report.Synced, false: report.OutOfSync}[test.waits == ""]; g.Sync != want {
					t.Errorf("got the guest %s, want %s; %+v", g.Sync, want, g.Conditions)
				}
				if known := l.knows(); known != (test.waits == "") || !l.sim.Running(201) {
					t.Errorf("got running %t, known to the system %t; it has read %q, and its configuration says %q", l.sim.Running(201), known, l.sim.CloudInitRead(201), l.sim.CloudInitNext(201))
				}
				if got := l.sim.Effects(201, pvesim.Stopped) - before; got != test.stops {
					t.Errorf("got %d stops, want %d", got, test.stops)
				}
			})
		})
	}
}

// TestCloneOfATemplateThatWasEdited makes a machine from a template whose cloud-init values were edited: a first boot has all that the machine has.
func TestCloneOfATemplateThatWasEdited(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.byPerson("PUT", "/nodes/pve1/qemu/9000/config", "ide2=local:cloudinit")
		l.byPerson("PUT", "/nodes/pve1/qemu/9000/config", "ciuser=old", "ipconfig0=ip=10.0.20.7/24")
		l.byPerson("PUT", "/nodes/pve1/qemu/9000/config", "ciuser=older")
		l.files["web.yaml"] = initVM(ip("11"), "state: running", "lifecycle: {rebootPolicy: auto}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		time.Sleep(20 * time.Minute)
		if got := l.sim.Effects(201, pvesim.Stopped); got != 0 || !l.knows() || l.waiting(201) != "" || !l.engine.Report().Converged {
			t.Errorf("got %d stops, %q waiting, known %t, want a machine that has what its manifest says", got, l.waiting(201), l.knows())
		}
	})
}
