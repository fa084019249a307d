package reconcile_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/pause"
	"gitops-agent/reconcile/queue"
	"gitops-agent/reconcile/writer"
)

// waitingCall is a call to a guest that waits for a write slot.
type waitingCall struct {
	before, after string // the manifest, with the vmid 201; "" after means that it is removed
	approved      bool   // the step needs an approval
	sent          string // a pattern of the request, with the vmid 201
}

// waitingCalls are the calls that interrupt, disrupt or destroy a guest, and further ones that Proxmox would carry out on any guest with the vmid.
func waitingCalls() map[string]waitingCall {
	web := func(lines ...string) string { return vmYAML("web-1", 201, lines...) }
	dns := func(lines ...string) string { return strings.Replace(dnsYAML(lines...), "vmid: 210", "vmid: 201", 1) }
	disks := func(second string) string { return web("disks: {scsi0: {size: 3Gi}, scsi1: " + second + "}") }
	bridge := func(name string) string { return web("state: running", "networks: {net0: {bridge: "+name+"}}") }
	const disk = "{storage: local-lvm, size: 4Gi}"
	return map[string]waitingCall{
		"destroy":              {web("lifecycle: {destroy: allow}"), "", false, "^DELETE /nodes/pve1/qemu/201$"},
		"stop_before_destroy":  {web("state: running", "lifecycle: {destroy: allow}"), "", false, "/201/status/stop$"},
		"unprotect_to_destroy": {web("lifecycle: {protection: true}"), "", true, "^(POST|PUT) /nodes/pve1/qemu/201/config$"},
		"destroy_of_container": {dns("lifecycle: {destroy: allow}"), "", false, "^DELETE /nodes/pve1/lxc/201$"},
		"shutdown":             {web("state: running"), web("state: stopped"), false, "/201/status/shutdown$"},
		"forced_shutdown":      {web("state: running", "lifecycle: {forceStop: true}"), web("state: stopped", "lifecycle: {forceStop: true}"), false, "/201/status/shutdown$"},
		"container_shutdown":   {dns("state: running"), dns("state: stopped"), false, "/201/status/shutdown$"},
		"start":                {web("state: stopped"), web("state: running"), false, "/201/status/start$"},
		"container_start":      {dns("state: stopped"), dns("state: running"), false, "/201/status/start$"},
		"reboot":               {runningWeb(1), runningWeb(2), false, "/201/status/reboot$"},
		"disruptive_config":    {bridge("vmbr0"), bridge("vmbr1"), true, "/201/config$"},
		"detach":               {disks(disk), disks("{absent: true}"), true, "/201/config$"},
		"move":                 {disks(disk), disks("{storage: local, size: 4Gi}"), false, "/201/move_disk$"},
		"resize":               {disks(disk), disks("{storage: local-lvm, size: 5Gi}"), false, "/201/resize$"},
		"migrate":              {onNode(web(), "pve1"), onNode(web(), "pve2"), false, "/201/migrate$"},
		"template":             {web(), web("template: true"), true, "/201/template$"},
		"ordinary_config":      {web("description: one"), web("description: two"), false, "/201/config$"},
	}
}

// waiting is a lab with a call of each kind that waits for a write slot.
type waiting struct {
	*lab
	pause pause.File
	calls map[int]waitingCall // by vmid
	names map[int]string
	stop  func()
}

// waitingCauses are the reasons why calls that wait must not be sent any more.
func waitingCauses() map[string]func(w *waiting) {
	replaceBy := func(add func(w *waiting, vmid int) (int, error)) func(*waiting) {
		return func(w *waiting) {
			for vmid := range w.calls {
				w.ok(w.sim.RemoveGuest(vmid))
				_, err := add(w, vmid)
				w.ok(err)
			}
		}
	}
	return map[string]func(w *waiting){
		"nothing_happens": nil,
		"another_machine_has_the_vmid": replaceBy(func(w *waiting, vmid int) (int, error) {
			return w.sim.AddVM(pvesim.Guest{VMID: vmid, Running: vmid%2 == 0, Config: fmt.Sprintf("name: mail-0\nmemory: 512\nscsi1: local-lvm:vm-%d-disk-7,size=4G\n", vmid)})
		}),
		"another_container_has_the_vmid": replaceBy(func(w *waiting, vmid int) (int, error) {
			return w.sim.AddCT(pvesim.Guest{VMID: vmid, Running: vmid%2 == 0, Config: fmt.Sprintf("hostname: mail-0\nmemory: 512\nrootfs: local:%d/vm-%d-disk-7.raw,size=4G\n", vmid, vmid)})
		}),
		"a_newer_revision_takes_it_back": func(w *waiting) {
			w.write(func(call waitingCall) string { return call.before })
			w.pushNow("take it back")
		},
		"the_agent_is_stopped": func(w *waiting) {
			go w.stop() // returns when the lanes have ended
			synctest.Wait()
		},
		"the_agent_is_paused": func(w *waiting) { w.ok(w.pause.Write(pause.Note{Since: time.Now()})) },
		"another_agent_claims": func(w *waiting) {
			w.claimAsAnother()
			time.Sleep(writer.Recent + time.Millisecond)
		},
		"the_lock_file_is_removed": func(w *waiting) { w.ok(os.Remove(filepath.Join(w.state, "journal", "lock"))) },
	}
}

// TestIncidentCallWaitsForAWriteSlot plans calls of every kind while both write slots of their node are busy. They wait in the client. Until they
// are sent, the vmids may get other guests, a newer revision may take the steps back, and the agent may be stopped, paused or superseded: then none of
// the calls may be sent, except those that Proxmox refuses because of the digest of the other guest's configuration.
func TestIncidentCallWaitsForAWriteSlot(t *testing.T) {
	t.Parallel()
	for cause, meanwhile := range waitingCauses() {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, file := newPausableLab(t, newSim(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}}), func(o *reconcile.Options) {
					o.Parallel, o.Limits = 40, queue.Limits{PerStorage: 40, PerNode: 40}
				})
				w := &waiting{lab: l, pause: file, calls: map[int]waitingCall{}, names: map[int]string{}}
				for i, name := range slices.Sorted(maps.Keys(waitingCalls())) {
					w.calls[201+i], w.names[201+i] = waitingCalls()[name], name
				}
				w.run(meanwhile)
			})
		})
	}
}

// write writes the manifests of the guests.
func (w *waiting) write(manifest func(call waitingCall) string) {
	for vmid, call := range w.calls {
		file, text := fmt.Sprintf("%d.yaml", vmid), manifest(call)
		if w.files[file] = strings.NewReplacer("vmid: 201", fmt.Sprint("vmid: ", vmid), "-1}", fmt.Sprintf("-%d}", vmid)).Replace(text); text == "" {
			delete(w.files, file)
		}
	}
}

// run lets the calls wait until the cause has arisen. Without a cause, each of them must be sent.
func (w *waiting) run(meanwhile func(w *waiting)) {
	w.Helper()
	log := w.recordWrites(w.pause.Check)
	w.files["cluster.yaml"] = clusterYAML + "  guards: {maxDestroysPerDay: 100}\n"
	w.addBusyGuests()
	w.write(func(call waitingCall) string { return call.before })
	w.push("guests", alice)
	end, ended := w.start(), false
	w.stop = func() { ended = true; end() }
	defer func() {
		if !ended {
			end()
		}
	}()
	w.converge()
	digests := w.askForApprovals()
	w.occupyWriteSlots()
	w.write(func(call waitingCall) string { return call.after })
	w.pushNow("the changes")
	w.pollNow(w.push("Approve\n\nGitops-Approve: "+strings.Join(digests, "\nGitops-Approve: ")+"\n", olga))
	for vmid := range w.calls {
		w.waitForWaitingCall(vmid)
	}
	before, guests := log.count(), w.describe()
	if meanwhile != nil {
		meanwhile(w)
		guests = w.describe()
	}
	w.freeWriteSlots()
	time.Sleep(10 * time.Minute)
	for vmid, call := range w.calls {
		sent := log.matching(before, regexp.MustCompile(strings.ReplaceAll(call.sent, "201", fmt.Sprint(vmid))))
		now := w.describe()[vmid]
		switch foreign := strings.Contains(now, "mail-0"); {
		case meanwhile == nil && len(sent) == 0:
			w.Errorf("%s: got no call sent, want one", w.names[vmid])
		case foreign && now != guests[vmid]:
			w.Errorf("%s: got the other guest changed to %q, want it unchanged: %q", w.names[vmid], now, guests[vmid])
		case foreign && slices.Contains([]string{"ordinary_config", "resize"}, w.names[vmid]): // refused because of the digest
		case meanwhile != nil && len(sent) > 0:
			w.Errorf("%s: got %q sent, want nothing", w.names[vmid], sent)
		}
	}
}

// describe returns configuration and run state of the guests.
func (w *waiting) describe() map[int]string {
	guests := make(map[int]string)
	for vmid := range w.calls {
		guests[vmid] = fmt.Sprintf("%s\nrunning: %t", w.sim.Config(vmid), w.sim.Running(vmid))
	}
	return guests
}

// askForApprovals pushes the changes that need an approval, and returns the digests. It also writes the change for which a guest restarts, so that
// only the restart is left.
func (w *waiting) askForApprovals() (digests []string) {
	w.Helper()
	w.write(func(call waitingCall) string {
		if call.approved {
			return call.after
		}
		return call.before
	})
	w.waitForAcceptance(w.push("what needs an approval", alice))
	for vmid, call := range w.calls {
		if call.approved {
			digests = append(digests, w.digestOfHold(vmid))
		}
		if w.names[vmid] == "reboot" {
			w.lab.write(vmid, "cores=2")
		}
	}
	return digests
}

// recordWrites makes the lab's engine use a client whose writes are recorded.
func (l *lab) recordWrites(mayWrite func() error) *writeLog {
	l.Helper()
	log := &writeLog{}
	l.opts.Cluster = l.connect(proxmox.Options{Transport: &agentWire{next: l.sim.Transport(), log: log}, MayWrite: mayWrite})
	return log
}
