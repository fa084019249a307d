package guest_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// TestChangesOutsideConfigConvergeOnTheSimulator carries out every kind of change, until the guest is as wanted, and nothing twice.
func TestChangesOutsideConfigConvergeOnTheSimulator(t *testing.T) {
	two := 2
	disk := guest.Intent{Key: "scsi1", Verb: guest.Want, Sub: map[string]string{"storage": "local2", "size": "2G", "discard": "on"}}
	live := guest.Intent{Key: "scsi1", Verb: guest.Want, Sub: map[string]string{"storage": "local2", "size": "2G", "backup": "0"}}
	root := guest.Intent{Key: "rootfs", Verb: guest.Want, Sub: map[string]string{"storage": "local2", "size": "2G"}}
	tests := map[string]struct {
		kind   guest.Kind
		status guest.Status
		wants  guest.Desired
		writes string // kinds of writes, in order
	}{
		"machine": {
			guest.VirtualMachine, guest.StatusStopped,
			guest.Desired{Pool: "prod", Node: "pve2", Migrate: guest.MigrateOffline, HA: &guest.HAWanted{State: "stopped", MaxRestart: &two}, Intents: []guest.Intent{disk}},
			"set move resize pool ha migrate",
		},
		"running_machine": {
			guest.VirtualMachine, guest.StatusRunning,
			guest.Desired{Pool: "prod", Node: "pve2", Migrate: guest.MigrateOnline, HA: &guest.HAWanted{State: "started"}, Intents: []guest.Intent{live}},
			"set move resize pool ha migrate",
		},
		"container": {
			guest.Container, guest.StatusStopped,
			guest.Desired{Pool: "prod", Node: "pve2", Migrate: guest.MigrateOnline, Intents: []guest.Intent{root}},
			"move resize pool migrate",
		},
		"template": {guest.VirtualMachine, guest.StatusStopped, guest.Desired{Template: true, Intents: []guest.Intent{disk}}, "set move resize template"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(l lab) {
				l.status = test.status
				vmid := l.renew(test.kind)
				l.sim.AddPool("prod", "")
				d := test.wants
				d.Ref = guest.Ref{Kind: test.kind, VMID: vmid}
				if got := l.converge(d); got != test.writes {
					t.Errorf("writes: got %s, want %s", got, test.writes)
				}
			})
		})
	}
}

// TestIncidentMoveIsUndoneByTheNextStart: what waits for a start names the volume of before a move, which would be back with it.
func TestIncidentMoveIsUndoneByTheNextStart(t *testing.T) {
	simulate(t, func(l lab) {
		l.status = guest.StatusRunning
		vmid := l.renew(guest.VirtualMachine)
		d := guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, VMID: vmid}, Intents: []guest.Intent{
			{Key: "scsi1", Verb: guest.Want, Sub: map[string]string{"storage": "local2", "discard": "on"}},
		}}
		before := l.sim.Value(vmid, "scsi1")
		if got := l.converge(d); got != "set" || l.sim.Value(vmid, "scsi1") != before {
			t.Fatalf("while it runs: got %q written and %s, want the option to wait and the disk where it was", got, l.sim.Value(vmid, "scsi1"))
		}
		l.power(vmid, cluster.OpStop)
		if got := l.converge(d); got != "move" {
			t.Errorf("while it is stopped: got %q written, want the move", got)
		}
		l.power(vmid, cluster.OpStart)
		if got := l.sim.Value(vmid, "scsi1"); !strings.HasPrefix(got, "local2:") || !strings.Contains(got, "discard=on") {
			t.Errorf("after the start: got %s, want the moved volume with its option", got)
		}

		// A hand that moved it while the option waited leaves the old volume waiting.
		moved := l.sim.Value(vmid, "scsi1")
		d.Intents[0].Sub["storage"], d.Intents[0].Sub["discard"] = "local", "ignore"
		if got := l.converge(d); got != "set" {
			t.Fatalf("the option back: got %q written, want the option to wait", got)
		}
		if refusal := l.do(cluster.Call{Op: cluster.OpMove, Kind: d.Kind, Node: "pve1", VMID: vmid, Params: map[string]string{"disk": "scsi1", "storage": "local", "delete": "0"}}); refusal != "" {
			t.Fatal(refusal)
		}
		if got := l.converge(d); got != "set" {
			t.Errorf("after a move by hand: got %q written, want what waits to name the new volume", got)
		}
		l.power(vmid, cluster.OpStop)
		l.power(vmid, cluster.OpStart)
		if got := l.sim.Value(vmid, "scsi1"); got == moved || !strings.HasPrefix(got, "local:") {
			t.Errorf("after the next start: got %s, want the volume that the hand moved it to", got)
		}
	})
}

// TestCloudInitDriveChangesItsSlotOnTheSimulator moves the drive, which takes two writes, and boots from what comes with the boot order.
func TestCloudInitDriveChangesItsSlotOnTheSimulator(t *testing.T) {
	simulate(t, func(l lab) {
		vmid := l.renew(guest.VirtualMachine)
		drive := guest.Intent{Key: "ide0", Verb: guest.Want, Sub: map[string]string{"storage": "local", "volume": "cloudinit"}}
		d := guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, VMID: vmid}, Intents: []guest.Intent{drive}}
		if got := l.converge(d); got != "set" {
			t.Fatalf("the first drive: got %q written, want it set", got)
		}
		moved := guest.Intent{Key: "ide2", Verb: guest.Want, Sub: drive.Sub}
		d.Intents = []guest.Intent{moved}
		if got := l.converge(d); got != "" {
			t.Errorf("a second drive: got %q written, want nothing", got)
		}
		d.Intents = []guest.Intent{{Key: "ide0", Verb: guest.Absent}, moved}
		if got := l.converge(d); got != "delete set" {
			t.Errorf("the drive in another slot: got %q written, want it removed and made", got)
		}
		d.Intents = []guest.Intent{{Key: "boot", Verb: guest.Want, Sub: map[string]string{"order": "scsi7;net0"}}}
		if got := l.converge(d); got != "" {
			t.Errorf("boot from what is not there: got %q written, want nothing", got)
		}
	})
}

func (l lab) power(vmid int, op cluster.Op) {
	l.Helper()
	if refusal := l.do(cluster.Call{Op: op, Kind: guest.VirtualMachine, Node: "pve1", VMID: vmid}); refusal != "" {
		l.Fatalf("%s: %s", op, refusal)
	}
}

// converge carries out one change after the other, each planned from a fresh reading, and names them.
func (l lab) converge(d guest.Desired) string {
	l.Helper()
	var writes []string
	for range 20 {
		o := l.look(d.VMID)
		next, ok := nextWrite(d, o)
		if !ok {
			return strings.Join(writes, " ")
		}
		writes = append(writes, string(next.Write))
		if refusal := l.do(callOf(d, o, next)); refusal != "" {
			l.Fatalf("%s %s: %s", next.Write, next.Value, refusal)
		}
		if d.HA != nil {
			time.Sleep(time.Minute) // the HA manager works in rounds
		}
	}
	l.Fatalf("writes: got %v, want an end", writes)
	return ""
}

// writeOrder is that of a plan's steps: a guest under HA moves by the manager, and a template is made of what is complete.
var writeOrder = []guest.Write{
	guest.WriteSet, guest.WriteDelete, guest.WriteMove, guest.WriteResize, guest.WritePool, guest.WriteHA, guest.WriteMigrate, guest.WriteTemplate,
}

func nextWrite(d guest.Desired, o guest.Observed) (guest.Change, bool) {
	changes := guest.Diff(d, o)
	for _, write := range writeOrder {
		for _, change := range changes {
			if change.Write == write {
				return change, true
			}
		}
	}
	return guest.Change{}, false
}

// look reads a guest as the agent's engine does: its row, its keys and its HA entry.
func (l lab) look(vmid int) guest.Observed {
	l.Helper()
	inventory, err := l.client.Inventory(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	resources, err := l.client.HA(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	for _, row := range inventory.Rows {
		if row.VMID != vmid {
			continue
		}
		o, err := l.client.Observe(l.Context(), row)
		if err != nil {
			l.Fatal(err)
		}
		if h, ok := resources[vmid]; ok {
			o.Resource = &h
		}
		return o
	}
	l.Fatalf("guest %d is not in the inventory", vmid)
	return guest.Observed{}
}

// callOf is the call of one change.
func callOf(d guest.Desired, o guest.Observed, c guest.Change) cluster.Call {
	call := cluster.Call{Kind: o.Kind, Node: o.Node, VMID: o.VMID, Digest: o.Digest, Op: cluster.OpConfig}
	switch c.Write {
	case guest.WriteSet:
		call.Params = map[string]string{c.Key: c.Value}
	case guest.WriteDelete:
		call.Delete = []string{c.Key}
	case guest.WriteResize:
		call.Op, call.Params = cluster.OpResize, map[string]string{"disk": c.Key, "size": c.Value}
	case guest.WriteMove:
		call.Op, call.Params = cluster.OpMove, map[string]string{"disk": c.Key, "storage": c.Value, "delete": "0"}
	case guest.WritePool:
		call.Op, call.Digest, call.Params = cluster.OpPool, "", map[string]string{"poolid": c.Value}
	case guest.WriteHA:
		call.Op = map[string]cluster.Op{guest.HAAdd: cluster.OpHAAdd, guest.HASet: cluster.OpHASet, guest.HARemove: cluster.OpHARemove}[c.Value]
		call.Digest, call.Params = "", guest.HAParams(d, c.Value)
	case guest.WriteMigrate:
		call.Op, call.Digest, call.Params = cluster.OpMigrate, "", map[string]string{"target": c.Value}
		if o.Status == guest.StatusRunning {
			call.Params["online"], call.Params["with-local-disks"] = "1", "1"
		}
	case guest.WriteTemplate:
		call.Op, call.Digest = cluster.OpTemplate, ""
	case guest.WriteSecret, guest.WriteFirewall, guest.WriteNone:
	}
	return call
}

// TestSourcesConvergeOnTheSimulator makes guests from sources, writes what they do not bring along, and finds no more to write.
func TestSourcesConvergeOnTheSimulator(t *testing.T) {
	disk := guest.Intent{Key: "scsi0", Verb: guest.Want, Sub: map[string]string{"storage": "local", "size": "4G"}}
	memory := guest.Intent{Key: "memory", Verb: guest.Want, Text: "2048"}
	keys := guest.Intent{Key: "ssh-public-keys", Verb: guest.Want, Text: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMjJIgmBwGHzxaes7iXh/dc/0gj2H+IRWkEN5c9tx7Wa a@b"}
	root := guest.Intent{Key: "rootfs", Verb: guest.Want, Sub: map[string]string{"storage": "local", "size": "1G"}}
	tests := map[string]struct {
		kind    guest.Kind
		source  guest.Source
		intents []guest.Intent
		check   map[string]string // texts that the guest then has
	}{
		"iso": {
			guest.VirtualMachine,
			guest.Source{ISO: &guest.ISO{Volume: "local:iso/tiny.iso", Slot: "ide2"}},
			[]guest.Intent{memory, disk},
			map[string]string{"ide2": "local:iso/tiny.iso,media=cdrom,size=17M", "scsi0": "local:601/vm-601-disk-0.raw,size=4G"},
		},
		"backup": {
			guest.VirtualMachine,
			guest.Source{Backup: &guest.Backup{Volume: "ARCHIVE", Storage: "local"}},
			[]guest.Intent{memory},
			map[string]string{"tags": "gitops-0123abcd", "memory": "2048", "scsi1": "local:601/vm-601-disk-0.raw,size=1G"},
		},
		"backup_of_container": {
			guest.Container,
			guest.Source{Backup: &guest.Backup{Volume: "ARCHIVE"}},
			[]guest.Intent{memory, root, keys},
			map[string]string{"tags": "gitops-0123abcd", "memory": "2048", "rootfs": "local:601/vm-601-disk-0.raw,size=1G"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(l lab) {
				if b := test.source.Backup; b != nil {
					b.Volume = l.backUp(test.kind)
				}
				d := guest.Desired{
					Ref: guest.Ref{Kind: test.kind, Name: "new-1", VMID: 601}, Node: "pve1", Source: test.source, Intents: test.intents, Marker: "gitops-0123abcd",
				}
				params, err := guest.CreateParams(d)
				if err != nil {
					t.Fatal(err)
				}
				if refusal := l.do(cluster.Call{Op: cluster.OpCreate, Kind: d.Kind, Node: "pve1", VMID: d.VMID, Params: params}); refusal != "" {
					t.Fatalf("create with %v: %s", params, refusal)
				}
				if tags := l.sim.Value(d.VMID, "tags"); tags != d.Marker {
					t.Errorf("tags after the call: got %q, want the marker at once", tags)
				}
				l.converge(d)
				for key, want := range test.check {
					if got := l.sim.Value(d.VMID, key); got != want {
						t.Errorf("%s: got %q, want %q", key, got, want)
					}
				}
			})
		})
	}
}

// backUp makes a backup of a guest that bears another guest's marker, and returns its volume.
func (l lab) backUp(kind guest.Kind) string {
	l.Helper()
	vmid := l.renew(kind)
	if err := l.sim.Edit(vmid, "tags", "gitops-ffffffff;old"); err != nil {
		l.Fatal(err)
	}
	body, err := json.Marshal(map[string]string{"vmid": strconv.Itoa(vmid), "storage": "local"})
	if err != nil {
		l.Fatal(err)
	}
	req, err := http.NewRequestWithContext(l.Context(), http.MethodPost, "https://pve1/api2/json/nodes/pve1/vzdump", bytes.NewReader(body))
	if err != nil {
		l.Fatal(err)
	}
	req.Header.Set("Authorization", "PVEAPIToken="+l.sim.Token("root@pam!full"))
	req.Header.Set("Content-Type", "application/json")
	answer, err := l.sim.Transport().RoundTrip(req)
	if err != nil {
		l.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var started struct{ Data string }
	if err := json.NewDecoder(answer.Body).Decode(&started); err != nil {
		l.Fatal(err)
	}
	if task, err := l.client.Wait(l.Context(), started.Data); err != nil || !task.OK() {
		l.Fatalf("backup: got %+v, %v, want it done", task, err)
	}
	return backupOf(l.sim)
}

func backupOf(sim *pvesim.Sim) string {
	for _, v := range sim.Volumes() {
		if v.Kind == "backup" {
			return v.ID
		}
	}
	return ""
}
