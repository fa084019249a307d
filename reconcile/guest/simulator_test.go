package guest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// lab is a simulated cluster with one virtual machine and one container, and a client of it that has
// every privilege and is not root@pam. The simulator reads and prints values with code of its own.
type lab struct {
	*testing.T
	sim    *pvesim.Sim
	client *proxmox.Client
	status guest.Status // of the guests that renew makes
	drive  bool         // they have a cloud-init drive
}

const (
	labVM = 201
	labCT = 301
)

// simulate runs test in virtual time.
func simulate(t *testing.T, test func(l lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sim := pvesim.New(pvesim.Options{TaskTime: time.Millisecond, Nodes: []string{"pve1", "pve2"}, HADelay: time.Millisecond})
		defer sim.Close()
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(sim.Token("root@pam!full")), 0o600); err != nil {
			t.Fatal(err)
		}
		client, err := proxmox.New(proxmox.Options{Endpoints: []string{"https://pve1"}, TokenFile: path, Transport: sim.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		for volume, size := range map[string]int64{"local:iso/tiny.iso": 17 << 20, "local:import/tiny.qcow2": 17 << 20} {
			if err := sim.AddVolume(volume, size); err != nil {
				t.Fatal(err)
			}
		}
		test(lab{T: t, sim: sim, client: client, status: guest.StatusStopped})
	})
}

// renew replaces the guest of a kind by a fresh one.
func (l lab) renew(kind guest.Kind) int {
	l.Helper()
	vmid, add := labVM, l.sim.AddVM
	config := "memory: 1024\nnet0: virtio,bridge=vmbr0\nscsi1: local:1\n"
	if l.drive {
		config += "ide1: local:cloudinit\n"
	}
	if kind == guest.Container {
		vmid, add = labCT, l.sim.AddCT
		config = "memory: 512\nunprivileged: 1\nrootfs: local:1\n"
	}
	_ = l.sim.RemoveGuest(vmid) // which the first time is not there
	if _, err := add(pvesim.Guest{VMID: vmid, Config: config, Running: l.status == guest.StatusRunning}); err != nil {
		l.Fatal(err)
	}
	return vmid
}

func (l lab) observe(kind guest.Kind, vmid int) guest.Observed {
	l.Helper()
	o, err := l.client.Observe(l.Context(), cluster.Row{Kind: kind, VMID: vmid, Node: "pve1", Status: l.status})
	if err != nil {
		l.Fatal(err)
	}
	return o
}

// write sends parameters to a guest's configuration. It returns Proxmox's error text.
func (l lab) write(kind guest.Kind, vmid int, call cluster.Call) string {
	l.Helper()
	call.Op, call.Kind, call.Node, call.VMID = cluster.OpConfig, kind, "pve1", vmid
	return l.do(call)
}

// do sends a call and waits for the task, if there is one. It returns Proxmox's error text.
func (l lab) do(call cluster.Call) string {
	l.Helper()
	upid, err := l.client.Do(l.Context(), call, nil)
	if err != nil {
		return err.Error()
	}
	if upid == "" {
		return ""
	}
	task, err := l.client.Wait(l.Context(), upid)
	if err != nil {
		l.Fatal(err)
	}
	if !task.OK() {
		return task.Exit
	}
	return ""
}

// TestEveryKeyConvergesOnTheSimulator writes a value of every key, every sub-key among them, as Diff would have it written, and
// compares what is read back: nothing may be left to write. What only root@pam may write is edited by hand. What has the class restart waits: Proxmox lists it as
// pending, or the table has it as an unlisted value.
func TestEveryKeyConvergesOnTheSimulator(t *testing.T) {
	t.Parallel()
	samples := guest.WrittenSamples()
	for name, with := range map[string]lab{
		"stopped": {status: guest.StatusStopped}, "running": {status: guest.StatusRunning}, "with a cloud-init drive": {status: guest.StatusRunning, drive: true},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(l lab) {
				l.status, l.drive = with.status, with.drive
				for _, sample := range samples {
					if l.drive && sample.Kind == guest.Container {
						continue
					}
					l.settle(sample)
				}
			})
			t.Logf("simulator: %d values settled", len(samples))
		})
	}
}

func (l lab) settle(sample guest.WrittenSample) {
	l.Helper()
	vmid := l.renew(sample.Kind)
	d := guest.Desired{Ref: guest.Ref{Kind: sample.Kind, VMID: vmid}, Intents: []guest.Intent{sample.Intent}}
	before := l.observe(sample.Kind, vmid)
	changes := guest.Diff(d, before)
	for _, change := range changes {
		if refusal := l.carryOut(sample, vmid, change); refusal != "" {
			l.Errorf("write %s %s=%q: %s", sample.Kind, change.Key, change.Value, refusal)
		}
	}
	o := l.settled(d, sample.Text)
	for _, change := range changes {
		value := o.Keys[change.Key]
		waits := value.Pending != nil || value.Delete || l.status == guest.StatusRunning && waitsUnlisted(change.Key, before, o)
		if change.Class != guest.Impossible && waits != (change.Class == guest.Restart) {
			l.Errorf("%s %s=%q: got class %s, but the simulator keeps it waiting: %t", sample.Kind, change.Key, change.Value, change.Class, waits)
		}
	}
}

// waitsUnlisted reports whether a key got another unlisted value, and not by another device.
func waitsUnlisted(key string, before, after guest.Observed) bool {
	was, is := guest.UnlistedValues(before, nil, false)[key], guest.UnlistedValues(after, nil, false)[key]
	return was.Print != is.Print && was.Device == is.Device
}

// carryOut makes a change and returns its error text.
func (l lab) carryOut(sample guest.WrittenSample, vmid int, change guest.Change) string {
	l.Helper()
	switch change.Write {
	case guest.WriteSet:
		return l.write(sample.Kind, vmid, cluster.Call{Params: map[string]string{change.Key: change.Value}})
	case guest.WriteDelete:
		return l.write(sample.Kind, vmid, cluster.Call{Delete: []string{change.Key}})
	case guest.WriteNone, guest.WriteFirewall, guest.WriteResize, guest.WriteSecret, guest.WriteMove, guest.WriteMigrate, guest.WritePool, guest.WriteTemplate, guest.WriteHA:
	}
	if !strings.Contains(change.Note, "root@pam") {
		return change.Note
	}
	return l.writeAsRoot(sample.Kind, vmid, change.Key, sample.Text)
}

// writeAsRoot writes a key as the commands of a node do: a value that waits, or a removal, is replaced by another value that waits. It returns the error text.
func (l lab) writeAsRoot(kind guest.Kind, vmid int, key, text string) string {
	l.Helper()
	waits := l.observe(kind, vmid).Keys[key]
	line := "\ndelete: " + key + "\n"
	switch {
	case waits.Pending != nil:
		line = "\n" + key + ": " + *waits.Pending + "\n"
	case !waits.Delete:
		if err := l.sim.Edit(vmid, key, text); err != nil {
			return err.Error()
		}
		return ""
	}
	err := l.sim.EditFile(vmid, func(file string) string {
		return strings.Replace(file, line, "\n"+key+": "+text+"\n", 1)
	})
	if err != nil {
		return err.Error()
	}
	return ""
}

// TestRecordedWritesConvergeOnTheSimulator repeats the writes that the real API took and compares what the simulator reads back
// with what was written.
func TestRecordedWritesConvergeOnTheSimulator(t *testing.T) {
	t.Parallel()
	recorded := guest.RecordedWrites(t, map[guest.Kind]int{guest.VirtualMachine: labVM, guest.Container: labCT})
	simulate(t, func(l lab) {
		for _, r := range recorded {
			vmid := l.renew(r.Kind)
			if r.Intent.Key == "boot" { // a device that it was recorded with
				if err := l.sim.Edit(vmid, "scsi0", "none,media=cdrom"); err != nil {
					t.Fatal(err)
				}
			}
			if refusal := l.write(r.Kind, vmid, cluster.Call{Params: map[string]string{r.Intent.Key: r.Sent}}); refusal != "" {
				t.Errorf("write %s %s=%q: got refusal %q, want it stored as Proxmox did", r.Kind, r.Intent.Key, r.Sent, refusal)
				continue
			}
			l.settled(guest.Desired{Ref: guest.Ref{Kind: r.Kind, VMID: vmid}, Intents: []guest.Intent{r.Intent}}, r.Sent)
		}
	})
	t.Logf("simulator: %d recorded writes settled", len(recorded))
	if len(recorded) < 260 {
		t.Errorf("recorded writes: got %d, want at least 260", len(recorded))
	}
}

// settled checks that nothing is left to write for the guest to be as d wants it, and returns the guest.
func (l lab) settled(d guest.Desired, sent string) guest.Observed {
	l.Helper()
	o := l.observe(d.Kind, d.VMID)
	for _, change := range guest.Diff(d, o) {
		if change.Waits && l.status == guest.StatusRunning {
			continue
		}
		l.Errorf("%s %s written as %q, read back as %q: got %+v, want nothing to write", d.Kind, change.Key, sent, o.Keys[change.Key].Text, change)
	}
	return o
}

// TestUnknownKeysSurviveOnTheSimulator: a key of a release to come is read, compared with nothing, and still there after writes.
func TestUnknownKeysSurviveOnTheSimulator(t *testing.T) {
	t.Parallel()
	simulate(t, func(l lab) {
		for _, kind := range []guest.Kind{guest.VirtualMachine, guest.Container} {
			vmid := l.renew(kind)
			if err := l.sim.Edit(vmid, "future-key", "b,a=1"); err != nil {
				l.Fatal(err)
			}
			d := guest.Desired{Ref: guest.Ref{Kind: kind, VMID: vmid}, Intents: []guest.Intent{{Key: "onboot", Verb: guest.Want, Text: "1"}}}
			for _, change := range guest.Diff(d, l.observe(kind, vmid)) {
				if refusal := l.write(kind, vmid, cluster.Call{Params: map[string]string{change.Key: change.Value}}); refusal != "" || change.Key != "onboot" {
					t.Errorf("write %s %s: got %q, want onboot written", kind, change.Key, refusal)
				}
			}
			if got := l.settled(d, "1").Keys["future-key"].Text; got != "b,a=1" {
				t.Errorf("%s future-key: got %q, want it as it was", kind, got)
			}
		}
	})
}

// FuzzStoredTextReadsEqual: whatever Check accepts and the simulator stores, compares equal when it is read back.
func FuzzStoredTextReadsEqual(f *testing.F) {
	seeded := map[string]bool{} // the samples themselves are tried elsewhere
	for _, sample := range guest.WrittenSamples() {
		if seeded[sample.Intent.Key] {
			continue
		}
		seeded[sample.Intent.Key] = true
		f.Add(sample.Kind == guest.Container, sample.Intent.Key, sample.Text)
	}
	f.Fuzz(func(t *testing.T, container bool, key, text string) {
		kind := guest.VirtualMachine
		if container {
			kind = guest.Container
		}
		if guest.Check(kind, key, text) != nil {
			return
		}
		simulate(t, func(l lab) {
			vmid := l.renew(kind)
			d := guest.Desired{Ref: guest.Ref{Kind: kind, VMID: vmid}, Intents: []guest.Intent{{Key: key, Verb: guest.Want, Text: text}}}
			changes := guest.Diff(d, l.observe(kind, vmid))
			if len(changes) != 1 || changes[0].Write != guest.WriteSet {
				return
			}
			if l.write(kind, vmid, cluster.Call{Params: map[string]string{key: changes[0].Value}}) == "" {
				l.settled(d, text)
			}
		})
	})
}
